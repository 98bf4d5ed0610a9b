// QuorumStore: several independent Redis servers that vote. What a majority has is held.
//
// After Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/), with what follows
// from the criticism of it:
// - All servers are asked at once, each for `node_timeout` at most; a server that does not answer counts as a
//   no. sent_at of a vote is the sending of its first request, so the lease counts from there, and the caller
//   re-checks it when the last reply is in.
// - A minority is given back at once, because it would keep others from a majority. A server that does not
//   answer the release is asked again until the lease is over. Such a release may come late; so each round
//   has an owner of its own (undoes_refusals()), or it could take away the grant of a later round.
// - A server that does not answer must not prolong a contest: two that have one of three servers each, and
//   wait for the dead third one, would keep everybody out for a node_timeout, again and again (decided_soon).
// - A token (LockOptions::fencing) is the greatest that the voters drew, and counts when a majority has been
//   raised to it: a later majority shares a server with this one and so draws a greater one.
//
// Not covered: a server that lost its memory and is back within a lease (let it stay away for that long), and
// clocks that step by more than the margin.
#pragma once

#include <atomic>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/store/store.h"
#include "lib/runtime/task_pool.h"

namespace holdfast {

// Raises the last token of a lock to the greatest that its voters drew, as long as the owner holds it.
extern const redis::Script kRaiseToken;

class QuorumStore final : public Store {
 public:
  // The clients outlive the store; one for each server. `lease`: how long a server may remember what it was
  // not told to forget. Throws std::invalid_argument: no client, a null one, a server twice, a timeout below
  // 1 ms.
  QuorumStore(std::vector<redis::Client*> clients, Duration node_timeout, Duration lease);
  ~QuorumStore() override;  // [parks] waits for requests under way

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override;
  std::optional<redis::Answer> set_if_absent(std::string_view, std::string_view, std::string_view,
                                             const redis::CallOptions&) override {
    return std::nullopt;
  }
  Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                const redis::CallOptions& options) override;
  redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                     const redis::CallOptions& options) override;
  bool undoes_refusals() const noexcept override { return true; }
  std::unique_ptr<redis::Subscription> subscribe(const std::string&, std::function<void(std::string_view)>,
                                                 std::function<void()>) override {
    return nullptr;
  }
  bool run_callback(std::function<void()> callback) override {
    return clients_.front()->run_callback(std::move(callback));
  }
  Runtime& runtime() noexcept override { return runtime_; }
  const redis::ClientOptions& options() const noexcept override { return clients_.front()->options(); }
  std::string place() const override;

  std::size_t quorum() const noexcept { return clients_.size() / 2 + 1; }

 private:
  struct Request;
  struct Poll;
  struct PendingRelease;  // a release that a server has yet to confirm
  enum class Until { decided, decided_soon, all };

  // Sends the request to all servers and waits until so many replies satisfy `counts`, or so many did not,
  // that the rest cannot change the outcome; or for every reply. decided_soon: when a quorum has answered and
  // one of them refuses, the rest gets as long again as those took (5 ms at least), then counts as a no.
  // `keep_trying`: who does not answer is asked again.
  std::shared_ptr<Poll> poll(Request request, bool (*counts)(const redis::Reply&), Until until,
                             bool keep_trying = false);
  redis::Reply ask(std::size_t server, const Request& request);
  void vote(Poll& poll, std::size_t server);
  void run(const std::function<void()>& job);  // [parks] where no task can be started: here and now
  // Gives back in the name of `owner` what was granted, or is granted yet, by a poll that was not won. Waits
  // for those that granted, until `deadline` at most.
  void undo(const std::shared_ptr<Poll>& poll, const Wire& wire, std::string_view owner,
            MonotonicTime deadline);
  void give_back(const Poll& poll, std::size_t server);
  void add_pending(std::size_t server, Request request);
  void asks_for(std::string_view lease_ms);
  void send_pending();
  redis::Answer answer_of(const Poll& poll, redis::Reply reply) const;
  redis::Error failure_of(const Poll& poll) const;  // under its mutex

  const std::vector<redis::Client*> clients_;
  Runtime& runtime_;
  const Duration node_timeout_;
  std::atomic<Duration::rep> longest_lease_ns_;  // that was asked for: so long a record may last
  const std::string name_;                       // "3 of 5 servers"
  Mutex mutex_;
  Condition changed_;
  std::list<PendingRelease> pending_;
  bool working_off_ = false, closing_ = false;
  TaskPool voters_;  // its end comes first: its jobs use the rest
};

}  // namespace holdfast
