// WakeChannel: how the server, which knows the waiters, wakes one task of this process and no other.
//
// One channel for all locks of a LockContext, "holdfast:wake:<its uuid>" (in a Redis Cluster one for each
// hash tag); a message is "<owner> <ms>": that owner is to ask in so many milliseconds; or "<owner> held
// <ticket>[ <token>]": the server has made that owner the holder, after it had given it this ticket with its
// last refusal. So a release costs one message however many wait, and a wait costs no SUBSCRIBE of its own:
// the subscription begins with the first refusal and stays until nobody has waited for 5 s. On a Redis that
// is locked down by ACL the user needs the channels "holdfast:wake:*".
//
// "held" is said only where the grant was made: the script publishes it with redis.set_repl(REPL_NONE), so
// that replicas pass it on to nobody, who would believe it after a failover that lost the grant. An owner who
// is not heard there is sent "0", ask now, which replicas do pass on.
// https://redis.io/docs/latest/develop/interact/programmability/lua-api/#redis.set_repl
//
// In a Redis Cluster the channel lies in the slot of the lock, "holdfast:wake:<uuid>{tag}" (sharded.lua),
// and the subscription is where that slot is. On Redis 7 and newer it is a sharded channel: no other shard
// hears of a message, and the script learns truly whether somebody listens. The replicas of the node get it
// over the bus, whatever the script says: somebody who listens at one of them (it was the primary when he
// came) would hear "held" though he was passed over. So he believes it only of the node that has refused him
// since his subscription there came into force: that one had the slot then, and ends the subscription when
// it loses it. In a Cluster older than 7 a message reaches every node, and whoever listens elsewhere is
// passed over: there "held" means no more than to ask at once.
//
// A message is lost if its task does not listen yet. So call listen() before the server is asked; or the task
// is called at once when the channel comes (back) into force. https://redis.io/docs/latest/develop/pubsub/
//
// Thread safety: all members, from any task.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/lock/engine/late_release.h"
#include "lib/lock/store/store.h"
#include "lib/runtime/background_task.h"

namespace holdfast {

// What a waiting owner is told.
struct WakeCall {
  Duration ask_in{};
  std::int64_t held = 0;  // the ticket, where it holds the lock already; else 0
  std::optional<std::uint64_t> token = {};
  // In a Cluster: where "held" was heard, and since when this process listens there. It is true if that node
  // has refused the owner since then. Empty: it is true.
  std::string_view node = {};
  MonotonicTime since{};
};

class WakeChannel {
 public:
  // Called under the channel's mutex: it must not park, nor call back.
  using Call = std::function<void(const WakeCall&)>;

  // Somebody who wants to be called, until it is destroyed; after that no call is under way any more.
  class Listener {
   public:
    Listener(WakeChannel& channel, std::string tag, std::string owner, Call call);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    friend class WakeChannel;
    WakeChannel& channel_;
    const std::string tag_, owner_;
    const Call call_;
  };

  static constexpr Duration kLinger = std::chrono::seconds(5);

  // `store` and `late_release` outlive it.
  WakeChannel(Store& store, std::string_view uuid, LateRelease& late_release);
  ~WakeChannel();  // [parks] REQUIRES: nobody listens

  // Null unless the channel is in force: then what the server says from now on is heard. `wire`: the lock's.
  std::unique_ptr<Listener> listen_if_in_force(const Wire& wire, const std::string& owner, Call call);
  // `owner` has given up: should a request of its own that comes late make it the holder all the same, before
  // `until`, that is given back as soon as the call says so.
  void gave_up(std::string owner, std::shared_ptr<const Wire> wire, MonotonicTime until);
  // Subscribes where that is needed. Calls at once, or as soon as the channel is in force.
  std::unique_ptr<Listener> listen(const Wire& wire, const std::string& owner, Call call);

 private:
  // One subscription, and who listens to it.
  struct Ear {
    std::map<std::string, Listener*, std::less<>> listeners = {};  // by owner
    std::unique_ptr<redis::Subscription> subscription = nullptr;   // null: it is to be begun
    std::uint64_t number = 0;                                      // of that one
    bool in_force = false;
    std::string_view node = {};  // of a Cluster, which has the channel's slot; "": a plain channel
    MonotonicTime since{};       // in force there
    MonotonicTime idle_since{};  // when the last listener went
  };
  std::string tag_of(const Wire& wire) const;
  void on_message(const std::string& tag, std::string_view message);
  void on_subscribed(const std::string& tag, std::uint64_t number, std::string_view node);
  void give_back(std::string_view owner);
  void linger();

  struct Gone {
    std::string owner;
    std::shared_ptr<const Wire> wire;
    MonotonicTime until;
  };
  static constexpr std::size_t kMostGone = 4096;

  Store& store_;
  LateRelease& late_release_;
  const std::string name_;
  std::atomic<std::size_t> in_force_ = 0;  // of the ears
  Mutex mutex_;                            // guards what follows
  Condition closed_;
  std::map<std::string, Ear, std::less<>> ears_;  // by hash tag, with its braces; outside a Cluster ""
  std::deque<Gone> gone_;                         // the last that gave up
  std::uint64_t subscriptions_ = 0;               // so far
  bool closing_ = false;
  // Ends the subscriptions. Where it cannot be started, the next one to leave tries again.
  BackgroundTask task_;
};

}  // namespace holdfast
