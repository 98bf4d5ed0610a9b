// The inside of Client: of each lane one current connection, the task that makes it, and the calls that wait
// for it. Where one lane has found the primary, the others go, too, with their next calls. Of a Cluster there
// is one of these for each node, behind cluster_shards.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "lib/redis/connection.h"
#include "lib/redis/error.h"
#include "lib/redis/pubsub.h"
#include "lib/redis/servers.h"
#include "lib/redis/switch_watch.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/process_identity.h"
#include "lib/tls/tls_network.h"

namespace holdfast::redis {

// To a node of a Cluster: the last attempt to connect failed. Nothing was sent.
class NotConnected : public Error {
 public:
  using Error::Error;
};

class Client::Impl : public std::enable_shared_from_this<Client::Impl> {
 public:
  // What one lane, or node, learns and all know.
  struct Known {
    std::atomic<bool> ever_connected = false;
    std::atomic<bool> took_a_write = false;
    std::atomic<bool> warned = false;
    std::atomic<std::size_t> last_primary = 0;
    std::atomic<std::uint64_t> moves = 0;  // how often it was found at another node than before
    void found_at(std::size_t node) {
      if (last_primary.exchange(node) != node) ++moves;
    }
  };
  // What all of one client share.
  struct Parts {
    Runtime* runtime = nullptr;
    Network* network = nullptr;
    std::shared_ptr<const ClientOptions> options = {};
    std::shared_ptr<Servers> servers = {};
    std::shared_ptr<Known> known = {};
  };

  Impl(Runtime& runtime, Network& network, ClientOptions options);
  // To that node of a Cluster alone. A call that needs a connection waits for one attempt: NotConnected.
  Impl(const Parts& parts, std::size_t node);

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
  std::shared_ptr<void> shared(const std::function<std::shared_ptr<void>()>& make);
  MonotonicTime deadline_of(const CallOptions& call, MonotonicTime now) const;
  const std::string& name_of(std::size_t node) const { return servers_->name(node); }
  const ClientOptions& options() const { return *options_; }
  Servers::Counts& counts() const { return servers_->counts(); }
  Runtime& runtime() const { return runtime_; }
  std::unique_ptr<Subscription> subscribe(std::string channel,
                                          std::function<void(std::string_view)> on_message,
                                          std::function<void()> on_subscribed);
  std::unique_ptr<Subscription> subscribe_sharded(std::string channel,
                                                  std::function<void(std::string_view)> on_message,
                                                  std::function<void(std::string_view)> on_subscribed);
  std::size_t node_of(std::string_view key) const;

  void refuse_calls() { stopping_ = true; }  // REQUIRES: nobody knows it yet
  void shutdown();                           // [parks] Ends and joins everything.

 private:
  using ConnectionPtr = std::shared_ptr<Connection>;
  using Lock = std::unique_lock<Mutex>;
  // A call that waits for a connection.
  struct Waiter {
    Parker* parker;
    bool hopeless = false;
  };
  // Why trying again is no use.
  struct Hopeless {
    Error::Kind kind{};
    std::string node, code;
  };

  Impl(Parts parts, std::optional<std::size_t> only, std::shared_ptr<Pubsub> pubsub);
  Parts parts() const { return {&runtime_, &network_, options_, servers_, known_}; }

  Sent route(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
             MonotonicTime deadline, const CallOptions& call);
  Sent send_until(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
                  MonotonicTime deadline, const CallOptions& call);
  std::shared_ptr<Impl> lane(Lane lane);
  ConnectionPtr connected(MonotonicTime& now, MonotonicTime deadline, std::string_view command,
                          const std::stop_token& stop);
  bool several() const {
    return !only_ && (options_->cluster || options_->nodes.size() > 1 || !options_->sentinels.empty());
  }
  bool refused_everywhere(std::span<const CommandView> commands, std::span<const Reply> replies) const;
  void proved_useful(const ConnectionPtr& connection);
  void seek_again(const ConnectionPtr& connection, std::string why);
  void drop_connection();
  void leave_old_primary();
  bool start_connecting();
  void connect_until_done();
  void wait_for_next_attempt(Lock& lock);

  Runtime& runtime_;
  const std::unique_ptr<TlsNetwork>
      tls_;  // over the application's network; null: another one has it, or none
  Network& network_;
  const std::shared_ptr<const ClientOptions> options_;
  const std::shared_ptr<Servers> servers_;
  const std::shared_ptr<Known> known_;
  const std::optional<std::size_t> only_;  // this node of a Cluster
  const std::shared_ptr<Pubsub> pubsub_;   // null: of another lane, or of a Cluster
  const std::shared_ptr<Shards> shards_;   // they do it all; null: it is no Cluster, or one node of it
  bool is_lane_ = false;                   // another one than the shared
  const std::uint64_t made_at_fork_ = forks_so_far();

  Mutex mutex_;  // guards everything below; never held across a park
  bool stopping_ = false;
  ConnectionPtr connection_;            // null: none
  std::uint64_t moves_seen_ = 0;        // of Known::moves
  std::vector<ConnectionPtr> retired_;  // may still have calls under way
  std::list<Waiter*> waiters_;
  std::array<std::shared_ptr<Impl>, 3> lanes_;  // beside the shared one, which is this; null: not needed yet
  bool had_connection_ = false;
  std::size_t failures_ = 0;            // attempts and fruitless connections in a row
  MonotonicTime next_attempt_{};        // not before
  std::shared_ptr<SwitchWatch> watch_;  // while the Sentinels name no primary that answers
  std::weak_ptr<void> shared_;          // Client::shared()
  std::string last_problem_;
  Hopeless hopeless_;  // of the last attempt, for the waiters that were told

  BackgroundTask task_;
};

}  // namespace holdfast::redis
