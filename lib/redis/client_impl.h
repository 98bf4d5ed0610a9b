// The inside of Client: of each lane one current connection, the task that makes it, and the calls that wait
// for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "lib/redis/connection.h"
#include "lib/redis/error.h"
#include "lib/redis/pubsub.h"
#include "lib/redis/servers.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/process_identity.h"

namespace holdfast::redis {

class Client::Impl : public std::enable_shared_from_this<Client::Impl> {
 public:
  Impl(Runtime& runtime, Network& network, ClientOptions options);

  // [parks] Sends the commands as one piece and waits for all replies; sends them again where that is
  // harmless. Throws Error. Error replies come back in place, those that mean "not the primary" included.
  // `deadline`: deadline_of(call).
  struct Sent {
    std::size_t node = 0;
    MonotonicTime sent_at;
  };
  Sent execute(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
               MonotonicTime deadline, const CallOptions& call);
  // The error for an error reply.
  Error refusal(std::string_view node, std::string_view command, const Reply& error) const;

  // Throws Error (Kind::forked) when this process is a fork of the one in which the client was made.
  void check_process(std::string_view command) const;
  MonotonicTime deadline_of(const CallOptions& call, MonotonicTime now) const;
  const std::string& name_of(std::size_t node) const { return servers_->name(node); }
  const ClientOptions& options() const { return *options_; }
  Runtime& runtime() const { return runtime_; }
  const std::shared_ptr<Pubsub>& pubsub() const { return pubsub_; }

  void shutdown();  // [parks] Ends and joins everything.

 private:
  using ConnectionPtr = std::shared_ptr<Connection>;
  using Lock = std::unique_lock<Mutex>;
  // A call that waits for a connection.
  struct Waiter {
    Parker* parker;
    bool hopeless = false;
  };
  // What one lane learns and all know.
  struct Known {
    std::atomic<bool> ever_connected = false;
    std::atomic<bool> took_a_write = false;
    std::atomic<bool> warned = false;
    std::atomic<std::size_t> last_primary = 0;
  };
  // Why trying again is no use.
  struct Hopeless {
    Error::Kind kind{};
    std::string node, code;
  };
  class WaiterGuard;

  Impl(const Impl& shared, std::shared_ptr<Pubsub> no_pubsub);  // another lane

  Sent send_until(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
                  MonotonicTime deadline, const CallOptions& call);
  std::shared_ptr<Impl> lane(Lane lane);
  ConnectionPtr connected(MonotonicTime& now, MonotonicTime deadline, std::string_view command,
                          const std::stop_token& stop);
  bool several() const { return options_->nodes.size() > 1 || !options_->sentinels.empty(); }
  bool refused_everywhere(std::span<const CommandView> commands, std::span<const Reply> replies) const;
  void proved_useful(const ConnectionPtr& connection);
  void seek_again(const ConnectionPtr& connection, std::string why);
  void drop_connection();
  bool start_connecting();
  void connect_until_done();

  Runtime& runtime_;
  Network& network_;
  const std::shared_ptr<const ClientOptions> options_;
  const std::shared_ptr<Servers> servers_;
  const std::shared_ptr<Known> known_;
  const std::shared_ptr<Pubsub> pubsub_;  // null: of another lane
  const std::uint64_t made_at_fork_ = forks_so_far();

  Mutex mutex_;  // guards everything below; never held across a park
  bool stopping_ = false;
  ConnectionPtr connection_;            // null: none
  std::vector<ConnectionPtr> retired_;  // may still have calls under way
  std::list<Waiter*> waiters_;
  std::array<std::shared_ptr<Impl>, 3> lanes_;  // beside the shared one, which is this; null: not needed yet
  std::size_t failures_ = 0;                    // attempts and fruitless connections in a row
  MonotonicTime next_attempt_{};                // not before
  std::string last_problem_;
  Hopeless hopeless_;  // of the last attempt, for the waiters that were told

  BackgroundTask task_;
};

}  // namespace holdfast::redis
