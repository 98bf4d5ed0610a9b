// A client of one Redis, or of one replicated set of which one node is the primary.
//
// One pipelined connection carries the calls of all tasks of the process (renewals, and what waits for
// replicas, go over connections of their own: Lane). The call that waits first reads the replies for all, and
// hands the reading on when its own reply is there. Background calls (watchdogs), and those that a stop
// request can end, never take that role, so that a paused watchdog delays nobody: while only they wait, a
// reader task of the client's own serves them.
//
// Of a Redis Cluster (ClientOptions::cluster) the client keeps the map of the hash slots, and each call goes
// to the node of its keys (cluster_shards.h).
//
// With several nodes, or Sentinels, the client seeks the one whose ROLE is master: at first use, after losing
// the connection and on a READONLY reply. A call that certainly had no effect is sent again there until its
// deadline. The client never repeats a call that may have been executed: the lock knows what to do. With one
// node, READONLY is Kind::rejected as long as that node never took a write, and Kind::unavailable afterwards:
// then it is a primary that was demoted for a moment.
//
// Each connection begins with HELLO. A server that is no Redis, is older than 6.2, or wants another password
// is reported at once (Error::Kind), not when a script fails in the middle; one that evicts keys is warned
// of.
//
// Thread safety: every member may be called from any task of the Runtime. REQUIRES: no call is under way
// when the client is destroyed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/command.h"
#include "lib/redis/error.h"
#include "lib/redis/reply.h"
#include "lib/redis/script.h"
#include "lib/runtime/runtime.h"
#include "lib/tls/tls_options.h"

namespace holdfast {
class TaskPool;
}

namespace holdfast::redis {

// One server.
struct Node {
  std::string name;   // how errors and observers call it; empty: endpoint.to_string()
  Endpoint endpoint;  // where it listens
};

// Which servers, who asks, and for how long. From URLs: url.h.
struct ClientOptions {
  // At least one; more: one replicated set, primary unknown. With Sentinels: names of servers that they may
  // name, and may be empty.
  std::vector<Node> nodes = {};
  // They are asked where the primary is, each time that it is sought. The answers of more than half of them
  // are awaited, where they can be had, and the newest configuration wins; the server must then say itself
  // that it is the primary. So one Sentinel that was cut off and knows the old primary misleads nobody.
  std::vector<Node> sentinels = {};
  std::string primary_name = "mymaster";  // what the Sentinels call the primary
  std::string sentinel_user = {};         // AUTH at the Sentinels; empty: the default user
  std::string sentinel_password = {};     // AUTH at the Sentinels; empty: none is sent
  // The nodes are some of a Redis Cluster, one at least; the others are learned (CLUSTER SLOTS), so what the
  // servers announce must be reachable (else remap_address). A call goes to the node that has the slot of
  // its keys, after MOVED and ASK too; keys in different slots are refused (Kind::rejected, "CROSSSLOT"). All
  // names that a lock of this library keeps lie in the slot of its key. While a primary is being replaced,
  // calls wait for the new one until their deadlines. REQUIRES: no Sentinels, database 0.
  bool cluster = false;
  // Where to reach an address that a Sentinel or a node of a Cluster told: servers in containers, behind a
  // proxy or at the far end of a tunnel announce addresses of their own network. Gets each address that was
  // told (where only a port was: with the host at which the node was reached), returns that to connect to.
  // Errors and survivors name the server by the address that was told, unless `nodes` has the other one.
  // From any task, often: it must be quick, not park or throw, and answer the same each time. Empty: as told.
  // Better, where it can be done: replica-announce-ip, cluster-announce-ip, and their ports.
  std::function<Endpoint(const Endpoint& told)> remap_address = {};
  std::string user = {};         // AUTH; empty: the default user
  std::string password = {};     // AUTH; empty: none is sent
  int database = 0;              // SELECT
  std::string client_name = {};  // CLIENT SETNAME; empty: none
  // Set: every connection is encrypted, to Sentinels and learned addresses, too. What it refuses is
  // Error::Kind::untrusted.
  std::optional<TlsOptions> tls = std::nullopt;
  Duration connect_timeout = std::chrono::milliseconds(1000);  // one attempt: connect and handshake
  Duration command_timeout = std::chrono::milliseconds(3000);  // when a call gives no deadline
  // A subscription that has heard nothing for so long asks whether the server is still there (PING, answered
  // within connect_timeout or the connection is given up). Default: command_timeout. The kernel's probes of
  // idle TCP connections are SocketNetworkOptions::keep_alive.
  std::optional<Duration> keep_alive = std::nullopt;
  // False: as long as no server was ever reached, a call fails at once (Kind::unreachable) when every address
  // refuses or does not exist, for that is most likely a wrong address. True: it waits for its deadline then,
  // too.
  bool wait_for_servers = false;
  Duration backoff_min = std::chrono::milliseconds(10);   // between attempts: doubled, with jitter
  Duration backoff_max = std::chrono::milliseconds(500);  // the longest pause between attempts
  std::size_t max_pending = 65536;  // calls in flight; one more fails as `unavailable`, not sent
  // The longest reply or message, in bytes. A server that sends a longer one (or more than 65,536 items, or
  // lists in lists, more than 7 deep) is not listened to any further: Kind::protocol, the connection is given
  // up.
  std::size_t max_reply = std::size_t{1} << 20;
  // A server that evicts keys when its memory is full (maxmemory with a maxmemory-policy other than
  // noeviction) may drop the record of a lock that is held. Each connection looks (INFO memory; who may not
  // ask is not told). False: one warning. True: no call goes there (Kind::unsupported).
  bool strict = false;
  // Gets the warnings, one line each, at most one of each for a client (of a Cluster: a node): that a server
  // may evict, and that it does not let this user listen, so that nobody who waits is called. It must not
  // park. Empty: standard error.
  std::function<void(std::string_view)> on_warning = {};
};

// Which connection carries a call. Each is made when the first call needs it, so that what may take long on
// one (WAIT) holds up nothing on another one.
enum class Lane {
  shared,         // everything else
  renewals,       // renewals of leases
  replicas,       // writes with the WAIT that belongs to them
  replica_leases  // renewals of leases with their WAIT
};

// How one call is made.
struct CallOptions {
  std::optional<MonotonicTime> deadline = std::nullopt;  // default: now + command_timeout
  bool background = false;                               // never reads for others (see above)
  Lane lane = Lane::shared;                              // its connection
  // A stop request ends the call at once, as Kind::interrupted. What was sent may be executed all the same.
  std::stop_token stop = {};
};

// What a call returned and who said so.
struct Answer {
  Reply reply;            // no error, but from call_all()
  std::string_view node;  // name of the node; valid as long as the client
  MonotonicTime sent_at;  // before the (first) bytes of this command were handed to the network
};

// What a client has done since it was made, on all its connections.
struct ClientStatistics {
  std::uint64_t commands = 0;            // sent; each of a group, and each time that it was sent again
  std::uint64_t unanswered = 0;          // calls that ended without an answer; an error reply is one
  std::uint64_t connections = 0;         // made, handshake done; of all lanes, nodes and subscriptions
  std::uint64_t reconnections = 0;       // of those: in the place of one that was lost or left
  std::uint64_t failed_connections = 0;  // attempts at one server that came to nothing
};

class Subscription;

class Client {
 public:
  // Does not connect yet. `runtime` and `network` outlive it. REQUIRES: at least one node or Sentinel; of a
  // Cluster at least one node, no Sentinel and database 0. Throws BadTls: ClientOptions::tls cannot be used.
  // A child that forks off later makes one of its own: there each call on this one fails (Kind::forked).
  Client(Runtime& runtime, Network& network, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // [parks] Sends one command to the primary and waits for its reply. Throws Error; an error reply is thrown
  // as Kind::rejected (READONLY, LOADING, MASTERDOWN on a set of several nodes: the primary is sought again
  // first).
  Answer call(Arguments command, const CallOptions& options = {});
  // [parks] The same, with the command in braces.
  Answer call(std::initializer_list<std::string_view> command, const CallOptions& options = {});

  // [parks] Several commands back to back on one connection and nothing of other tasks in between (WAIT after
  // a grant). Error replies of single commands are returned in place. Throws Error as call() does. In a
  // Cluster a group with keys in several slots goes out in pieces, one after the other, each to the node of
  // its slot; what has no key goes with what stands before it. An error then ends the group where it is.
  std::vector<Answer> call_all(std::span<const std::vector<std::string_view>> commands,
                               const CallOptions& options = {});

  // The error that call() would have thrown for an error reply of call_all() to `command`.
  Error refusal(std::string_view command, const Answer& answer) const;

  // [parks] EVALSHA; on NOSCRIPT one EVAL with the text.
  Answer eval(const Script& script, Arguments keys, Arguments args, const CallOptions& options = {});

  // In a Cluster: a number for the node that has `key` now, as far as this client knows. Else 0.
  std::size_t node_of(std::string_view key) const;

  // Listens to `channel` of the primary (in a Cluster: of the node of the channel's slot) on a connection of
  // its own, shared by all subscriptions of this client. `on_message` is called for each message,
  // `on_subscribed` whenever the subscription is (again) in force on the server, which is the moment to
  // re-check what may have been missed. Both run on the subscription task: they must not park. Returns at
  // once, the subscription follows. The connection and its task exist only while there is at least one
  // subscription.
  std::unique_ptr<Subscription> subscribe(std::string channel,
                                          std::function<void(std::string_view payload)> on_message,
                                          std::function<void()> on_subscribed);
  // In a Redis Cluster of 7 and newer: hears what is published with SPUBLISH, at the node that has the
  // channel's slot (https://redis.io/docs/latest/develop/pubsub/#sharded-pubsub), and goes wherever the slot
  // goes. `on_subscribed` gets the name of that node, valid as long as the client; "" where it is a
  // subscription as above: outside a Cluster, and at a node that is older. It must not be destroyed by its
  // own callbacks.
  std::unique_ptr<Subscription> subscribe_sharded(std::string channel,
                                                  std::function<void(std::string_view payload)> on_message,
                                                  std::function<void(std::string_view node)> on_subscribed);

  // Runs `callback`, code of the application, on a task of its own (role "callback"): there it may take as
  // long as it wants, and may destroy what it likes, this client included. It must not throw. False: no task
  // could be started now. The client's end waits for the others.
  [[nodiscard]] bool run_callback(std::function<void()> callback);

  // What all who use this client share, of which it keeps no hold: that in use, or what `make` makes, which
  // must not call the client. In a fork of the process nobody shares anything. All ask for the same type.
  std::shared_ptr<void> shared(const std::function<std::shared_ptr<void>()>& make);

  ClientStatistics statistics() const noexcept;   // so far
  Runtime& runtime() noexcept;                    // on which it runs
  const ClientOptions& options() const noexcept;  // as given

 private:
  class Impl;
  class Shards;                 // of a Cluster
  std::shared_ptr<Impl> impl_;  // shared with the client's own tasks
  std::unique_ptr<TaskPool> callbacks_;
};

// Unsubscribes when destroyed; after that no callback of it runs any more.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

}  // namespace holdfast::redis
