// The subscriptions of one client: a connection of their own, and the task (role "subscription") that reads
// it; both exist only while there is a subscription.
//
// After a lost connection everything is subscribed again. A channel on which this user may not listen is
// asked for again, ever more seldom; the others stay. A PING when nothing has come for a while finds a peer
// that died silently. The connection goes to the primary, and moves when the calls go to another node.
//
// Or the sharded subscriptions of one node of a Cluster (SSUBSCRIBE). That node does not follow its slots:
// when one has gone elsewhere, by what the server says (sunsubscribe unasked, or MOVED), Shards is told,
// which subscribes there. A node that does not know SSUBSCRIBE is older than 7, and gets SUBSCRIBE.
//
// Thread safety: all members, from any task. Must be owned by a std::shared_ptr: its task keeps it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/redis/reply_reader.h"
#include "lib/redis/servers.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

class Pubsub : public std::enable_shared_from_this<Pubsub> {
 public:
  // `on_trouble`: of a Cluster, where calls_go_to() alone says which node; called, without the mutex, when
  // that node cannot be reached. `on_found`: called, without the mutex, with the node that was found to be
  // the primary.
  Pubsub(Runtime& runtime, Network& network, std::shared_ptr<const ClientOptions> options,
         std::shared_ptr<Servers> servers, std::function<void(std::size_t node)> on_trouble = nullptr,
         std::function<void(std::size_t node)> on_found = nullptr);
  // Of a Cluster's node. `channel` is no longer there; `moved` says who has it, or is null. Called, without
  // the mutex, on the task.
  using OnStray = std::function<void(std::size_t node, const std::string& channel, const Reply* moved)>;
  void be_sharded(OnStray on_stray);  // REQUIRES: nobody knows it yet

  // Throws Error (unavailable) when the task cannot be started.
  std::unique_ptr<Subscription> subscribe(std::string channel,
                                          std::function<void(std::string_view)> on_message,
                                          std::function<void(std::string_view node)> on_subscribed);
  void calls_go_to(std::size_t node);  // index of the node that the client takes for the primary
  void shutdown();                     // [parks] ends and joins the task

 private:
  // One Subscription.
  struct Listener {
    std::string channel;
    std::function<void(std::string_view)> on_message;
    std::function<void(std::string_view)> on_subscribed;  // with the node that heard SSUBSCRIBE, or ""
    std::uint64_t awaits = 0;  // in force when this many SUBSCRIBEs of the channel are confirmed
    bool told = false;         // on_subscribed called since then
    bool active = true;
  };
  using ListenerPtr = std::shared_ptr<Listener>;
  struct Channel {  // outlives its last listener until all its confirmations have come
    std::vector<ListenerPtr> listeners;
    std::uint64_t sent = 0;       // SUBSCRIBEs on this connection
    std::uint64_t confirmed = 0;  // of those, or refused
    bool refused = false;         // the last of those: this user may not listen
  };
  // A command on this connection. Its answer names a channel, but not if it is an error: they come in order.
  struct Asked {
    enum class What { subscribe, unsubscribe, ping } what;
    std::string channel;
  };
  class Handle;
  using Lock = std::unique_lock<Mutex>;

  void remove(const ListenerPtr& listener);
  void ask(Asked asked);
  bool write_queued(Lock& lock, MonotonicTime deadline);
  void run();
  void connect(Lock& lock);
  void serve(Lock& lock);
  void dispatch(Lock& lock, const Reply& message);
  std::optional<Asked> answered(const Reply& reply);
  bool is_about_one(Lock& lock, const std::optional<Asked>& asked, const Reply& error);
  void ask_refused_again();
  void subscribe_all();
  bool is_about_shards(Lock& lock, const std::optional<Asked>& asked, const Reply& error);
  std::string_view subscribe_command() const { return sharded() ? "SSUBSCRIBE" : "SUBSCRIBE"; }
  std::string_view unsubscribe_command() const { return sharded() ? "SUNSUBSCRIBE" : "UNSUBSCRIBE"; }
  // Whether this connection is for sharded channels. REQUIRES: the mutex is locked.
  bool sharded() const { return on_stray_ && !older_than_7_; }
  template <class Callback>
  void call(Lock& lock, const ListenerPtr& listener, const Callback& callback);

  Runtime& runtime_;
  Network& network_;
  const std::shared_ptr<const ClientOptions> options_;
  const std::shared_ptr<Servers> servers_;
  const std::function<void(std::size_t)> on_trouble_, on_found_;
  OnStray on_stray_;  // null: plain channels

  Mutex mutex_;              // guards everything below; never held across a park or a callback
  Condition callback_done_;  // running_ became null
  std::map<std::string, Channel, std::less<>> channels_;
  std::size_t listeners_ = 0;  // in all channels
  bool stopping_ = false;
  std::atomic<std::size_t> primary_ = 0;  // where to look first; written under the mutex

  std::shared_ptr<Stream> stream_;  // null: not connected
  std::size_t node_ = 0;            // of stream_
  bool older_than_7_ = false;       // that node
  std::string out_, taken_;
  std::deque<Asked> asked_;           // what has no answer yet, or is in out_
  std::size_t refusals_ = 0;          // rounds of them in a row
  MonotonicTime ask_again_ = kNever;  // what was refused
  bool writing_ = false;

  BackgroundTask task_;
  Listener* running_ = nullptr;  // whose callback runs now
  std::size_t failures_ = 0;     // attempts in a row
  bool left_ = false;            // the connection was closed because nobody listened
  bool lost_ = false;            // the connection before was not
  bool warned_ = false;          // that the server does not let this user listen
};

}  // namespace holdfast::redis
