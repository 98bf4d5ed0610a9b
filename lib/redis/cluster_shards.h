// The inside of a Client of a Redis Cluster: one Client::Impl for each node that calls go to, the map that
// says which, and a Pubsub for each shard that is listened to.
//
// A call goes to the node of its keys' slot. MOVED sends it to another one, and the map is asked for anew by
// a task of the client's own (role "cluster map"); ASK sends one call elsewhere; both together 5 times at
// most. Where there is no node (it cannot be reached, or the cluster is down for now) the map is asked for,
// and the call tried again, until its deadline. A call that may have been executed is never sent again.
//
// A message that is published in a Cluster reaches every node. Subscriptions nevertheless go to the node of
// the channel's slot, so that a message need not pass from node to node; when that node is replaced they
// follow.
//
// Sharded subscriptions stand in a Pubsub for each node. The task of the map brings each to where its slot
// is, when the node says that it has the slot no more, and when the map says so (cluster_subscriptions.cc).
//
// Thread safety: all members, from any task. Must be owned by a std::shared_ptr: its task keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/client.h"
#include "lib/redis/client_impl.h"
#include "lib/redis/cluster_map.h"
#include "lib/redis/hash_slot.h"
#include "lib/redis/pubsub.h"
#include "lib/runtime/background_task.h"

namespace holdfast::redis {

class Client::Shards : public std::enable_shared_from_this<Client::Shards> {
 public:
  explicit Shards(Impl::Parts parts);

  // [parks] As Client::Impl::execute(). A group whose keys lie in different slots goes out in pieces, one for
  // each run of commands of one slot; what has no key goes with what stands before it.
  Impl::Sent execute(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
                     MonotonicTime deadline, const CallOptions& call);
  std::unique_ptr<Subscription> subscribe(std::string channel,
                                          std::function<void(std::string_view)> on_message,
                                          std::function<void()> on_subscribed);
  std::unique_ptr<Subscription> subscribe_sharded(std::string channel,
                                                  std::function<void(std::string_view)> on_message,
                                                  std::function<void(std::string_view)> on_subscribed);
  // The node of that key, as far as is known; 0: nothing is.
  std::size_t node_of(std::string_view key);
  void shutdown();  // [parks] Ends and joins everything.

 private:
  using Lock = std::unique_lock<Mutex>;
  // A call that waits for the map.
  struct Waiter {
    Parker* parker;
  };
  // One that is listened to: where the slot of its first channel is, the others of that node go, too.
  struct Ear {
    std::uint16_t slot = 0;
    std::shared_ptr<Pubsub> pubsub = {};
  };
  // A sharded subscription, wherever it is now.
  struct Follower {
    std::string channel;
    std::uint16_t slot = 0;
    std::function<void(std::string_view)> on_message, on_subscribed;
    std::optional<std::size_t> node = std::nullopt;  // of `ear`
    std::unique_ptr<Subscription> ear = nullptr;
    bool stray = false;  // the slot is not there any more
    // MOVED has sent it there; a map of that epoch may be older than that.
    std::optional<std::int64_t> sent_in_epoch = std::nullopt;
    std::size_t failed = 0;  // how often in a row it came into force nowhere
    bool moving = false;     // somebody settles it
    bool gone = false;       // the application has ended it
  };
  using FollowerPtr = std::shared_ptr<Follower>;
  class FollowerHandle;
  enum class Trouble : std::uint8_t { none, moved, ask, later };

  Impl::Sent send(std::span<const CommandView> commands, std::span<Reply> replies,
                  std::optional<std::uint16_t> slot, MonotonicTime now, MonotonicTime deadline,
                  const CallOptions& call);
  Impl::Sent send_asking(Impl& node, std::span<const CommandView> commands, std::span<Reply> replies,
                         MonotonicTime now, MonotonicTime deadline, const CallOptions& call);
  Trouble trouble_of(std::span<const CommandView> commands, std::span<const Reply> replies,
                     const Reply** of) const;
  std::optional<std::size_t> redirected_to(const Reply& error, std::size_t by);
  std::shared_ptr<Impl> impl_of(std::size_t node);
  std::optional<std::size_t> place(Lock& lock, std::optional<std::uint16_t> slot) const;
  std::uint64_t wish(std::optional<std::size_t> not_first);
  void await_map(std::uint64_t wished, MonotonicTime deadline, std::string_view command,
                 const std::stop_token& stop);
  void pause(std::size_t failures, MonotonicTime deadline, std::string_view command,
             const std::stop_token& stop);
  void ask_until_done();
  void move_ears(Lock& lock);
  void settle(Lock& lock, const FollowerPtr& follower);
  void settle_all(Lock& lock);
  void went_astray(std::size_t node, const std::string& channel, const Reply* moved);
  void leave(const FollowerPtr& follower);
  std::shared_ptr<Pubsub> sharded_at(std::size_t node);

  const Impl::Parts parts_;
  Runtime& runtime_;

  Mutex mutex_;  // guards everything below; never held across a park
  bool stopping_ = false;
  ClusterMap map_;
  std::map<std::size_t, std::shared_ptr<Impl>> nodes_;  // by number in Servers
  std::vector<Ear> ears_;
  std::map<std::size_t, std::shared_ptr<Pubsub>> sharded_;  // by number in Servers
  std::list<FollowerPtr> followers_;
  Condition settled_;  // somebody is not moving any more
  std::list<Waiter*> waiters_;
  std::uint64_t wished_ = 0, granted_ = 0;  // requests for the map, and up to which one they were answered
  std::optional<std::size_t> not_first_;    // the node that was in trouble is asked last
  std::size_t failures_ = 0;                // attempts in a row that brought no map
  std::string last_problem_;
  std::optional<Error> hopeless_;  // the last attempt showed that trying again is no use

  BackgroundTask task_;
};

}  // namespace holdfast::redis
