// QuorumStore: several independent Redis servers that vote. What a majority has is held.
//
// After Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/), with what follows
// from the criticism of it: all servers are asked at once, each for `node_timeout` at most, and a server that
// does not answer counts as a no; a minority is given back, in the background if need be; sent_at of a vote
// is the sending of its first request, so the lease counts from there, and the caller re-checks it when the
// last reply is in.
//
// A token (LockOptions::fencing) is the greatest that the voters drew, and counts when a majority has been
// raised to it: a later majority shares a server with this one and so draws a greater one.
//
// Not covered: a server that lost its memory and is back within a lease (let it stay away for that long), and
// clocks that step by more than the margin.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "store.h"

namespace holdfast {

class QuorumStore final : public Store {
 public:
  // The clients outlive the store; one for each server. Throws std::invalid_argument: none, a null one, a
  // server twice by name, a timeout below 1 ms.
  QuorumStore(std::vector<redis::Client*> clients, Duration node_timeout);
  ~QuorumStore() override;  // [parks] waits for requests under way

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override;
  std::optional<redis::Answer> set_if_absent(std::string_view, std::string_view, std::string_view,
                                             const redis::CallOptions&) override {
    return std::nullopt;
  }
  redis::Answer renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                      const redis::CallOptions& options) override;
  redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                     const redis::CallOptions& options) override;
  std::unique_ptr<redis::Subscription> subscribe(const std::string&, std::function<void(std::string_view)>,
                                                 std::function<void()>) override {
    return nullptr;
  }
  Runtime& runtime() noexcept override { return runtime_; }
  const redis::ClientOptions& options() const noexcept override { return clients_.front()->options(); }

  std::size_t quorum() const noexcept { return clients_.size() / 2 + 1; }

 private:
  struct Poll;
  // Sends the script to all servers and waits until `enough` of the replies satisfy `counts`, or so many did
  // not that it cannot be reached; or, `all`, for every reply.
  std::shared_ptr<Poll> poll(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                             const redis::CallOptions& options, bool (*counts)(const redis::Reply&),
                             bool all);
  redis::Answer answer_of(const Poll& poll, redis::Reply reply) const;
  redis::Error failure_of(const Poll& poll, bool may_have_executed) const;

  const std::vector<redis::Client*> clients_;
  Runtime& runtime_;
  const Duration node_timeout_;
  const std::string name_;  // "3 of 5 servers"
  Mutex mutex_;
  std::list<Task> tasks_;
};

}  // namespace holdfast
