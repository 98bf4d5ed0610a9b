// Proxy: a process on Network through which every connection to a server goes. Faults of links act here, and
// the ledger is kept here. The same code runs in both worlds, on client links and on
// replication links.
//
// A link whose rules all work on bytes is not parsed. Rules are asked in the order in which they were added.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/tls/tls_network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

enum class Direction : std::uint8_t { request, reply };  // towards the server / from the server

struct Link {
  std::string from;  // client or, on a replication link, the replica
  std::string to;    // the server node
  // Known from the start if `from` is a node, else from the first REPLCONF, PSYNC or SYNC on.
  bool replication = false;
  std::uint64_t connection = 0;  // its number; 0: there is none yet
  bool bus = false;              // of the nodes of a Redis Cluster among themselves: not parsed
  bool opaque = false;           // its servers do not speak RESP: not parsed
  bool of_client() const { return !replication && !bus; }
};

// One whole RESP message on a link. A MULTI ... EXEC of a client that sends it in one go, or in a replication
// stream, is one message whose command is the one that ends it (EXEC or DISCARD); its replies are one message
// too. A client that waits for the answer to its MULTI has it passed on piece by piece; then the `request` of
// the reply to EXEC still has all of it. Pushes: confirmations of a subscription carry its name as `command`,
// published messages carry "". The snapshot of a full synchronisation is no message: it passes as bytes.
struct Message {
  const Link& link;
  Direction direction;
  std::string_view bytes;
  std::string_view command;  // upper case; of the request that a reply answers; "" for pushes
  const std::vector<std::string_view>& arguments;  // of that request, command included
  const redis::Reply* reply = nullptr;             // replies only; of a transaction: EXEC's
  std::uint64_t exchange = 0;  // the same for a request and its reply, never used twice; 0: a push, a command
                               // of a replication stream, or a reply to a request that nobody looked at
  std::string_view request{};  // replies: the bytes of the request that it answers
};

// `head`, and then `again` over and over, each `pause` after the one before.
struct EndlessReply {
  std::string head, again;
  Duration pause{};
};

// A part of what passes, `after` what decided about it.
struct Slice {
  std::size_t bytes = 0;
  Duration after{};
};

// What happens to a message (or to a chunk of bytes).
struct Action {
  enum class Kind {
    pass,
    hold,   // stop here, in order, until the rule calls Proxy::release_held(); FIN and resets are held, too
    drop,   // swallow it
    reset,  // break the connection off instead of passing it on
    // The receiver reads half of the message and then the end of the stream; the sender sees a reset.
    pass_half_then_reset,
    // The receiver gets `endless` in place of this message, and nothing else any more, until it has had
    // enough or the rule is removed: then the connection is broken off.
    stream,
    pass_part_then_close,  // the first `part` bytes pass, then the connection is closed in both ways
  };
  Kind kind = Kind::pass;
  Duration delay{};  // pass: keep it back that long; order within a link is kept
  // pass: these bytes go on in place of the message; in place of a request, something with one answer.
  std::shared_ptr<const std::string> instead = nullptr;
  std::shared_ptr<const EndlessReply> endless = nullptr;  // stream
  std::size_t part = 0;                                   // pass_part_then_close
  // pass: in slices, each of which waits for its own time besides `delay`, or until the rule is removed.
  // Together they are all of it.
  std::shared_ptr<const std::vector<Slice>> slices = nullptr;
  // pass: called when it has been written on.
  std::shared_ptr<const std::function<void()>> passed = nullptr;
};

class Rule {
 public:
  virtual ~Rule() = default;
  // Which links it looks at: asked when something about rules or the link changed, not for every message.
  virtual bool applies(const Link& link) const = 0;
  virtual bool needs_messages() const = 0;  // false: on_bytes() is asked, and the link need not be parsed
  virtual bool refuses(const Link& link) { return static_cast<void>(link), false; }  // a new connection
  // A new connection is not made: its first packet is lost, and tried again by who connects.
  virtual bool loses(const Link& link) const { return static_cast<void>(link), false; }
  virtual Action on_message(const Message& message) { return static_cast<void>(message), Action{}; }
  // Empty `bytes`: the end of the stream (FIN or reset); `hold` holds it back too, for rules on messages it
  // just keeps its place in the order.
  virtual Action on_bytes(const Link& link, Direction direction, std::string_view bytes) {
    return static_cast<void>(link), static_cast<void>(direction), static_cast<void>(bytes), Action{};
  }
};

using RuleId = std::uint64_t;  // never 0

struct ProxyStats {
  std::uint64_t connections = 0;  // accepted
  std::uint64_t chunks = 0;       // pieces of bytes passed on without looking into them
  std::uint64_t messages = 0;     // messages taken apart
  std::uint64_t writes = 0;       // both ways; what was read in one go and passes is written in one go
};

// Sees every message of client links in the order in which they pass, before they are passed on (so that a
// fault that it fires acts first). While there is at least one watcher, client links are parsed.
using MessageWatcher = std::function<void(const Message& message)>;
// Whether a watcher may act on the world when it sees this message (a fault that it fires). What came before
// such a message has been handed over by then; what a watcher only looks at may be gathered with the next.
using MayAct = std::function<bool(const Message& message)>;

// What became of a reply.
enum class Fate : std::uint8_t {
  delivered,  // written to the client's connection, whole, and the client had not ended its side
  dropped,    // swallowed, or other bytes took its place
  cut         // the connection was over before
};
// Told once of each reply of a client link that watchers or rules on messages saw, after they saw it, if they
// saw the request that it answers. Not told of what is still held when the proxy ends.
using FateWatcher = std::function<void(const Link& link, std::uint64_t exchange, Fate fate)>;

class PassageWatcher;  // passage.h

// Told of bytes that a lane has read (or, `written`, written on).
using ByteCounter =
    std::function<void(const Link& link, Direction direction, std::size_t bytes, bool written)>;

// A door for programs that are not of the world.
struct DoorOptions {
  Endpoint at;                   // where to listen
  Network* dials = nullptr;      // connects to the upstream; null: the proxy's process, from its own address
  TlsNetwork* guests = nullptr;  // ends the TLS of who connects; null: none is expected
  bool ends_orderly =
      false;  // who cannot be connected to the upstream sees the end of the stream, not a reset
};

// A node's machine and its server, as who connects finds them.
enum class NodeState : std::uint8_t {
  up,
  down,  // the server is gone, its machine is there: refuses at once
  off    // the machine is gone: nothing answers, and connections that existed do not even end
};

// Limits. A direction that waits for a delay takes in kQueueLimit bytes before it stops reading; one that is
// held goes on accepting up to kHoldLimit. A message longer than kMessageLimit passes as bytes.
//
// A rule that refuses: the client's connection is accepted and then reset. A server that dies: its
// connections end towards the clients as they ended towards the proxy, unless held, and new ones are refused
// (NodeState).
class Proxy {
 public:
  static constexpr std::size_t kQueueLimit = std::size_t{4} << 20;
  static constexpr std::size_t kHoldLimit = std::size_t{64} << 20;
  static constexpr std::size_t kMessageLimit = std::size_t{16} << 20;

  // Runs as a process of `world`, named "proxy".
  explicit Proxy(World& world);
  ~Proxy();

  // Opens the door to `node`: whoever connects to the endpoint returned reaches `upstream` at that moment.
  // `replication_from`: a door for one named replica. On a task of the harness or of the proxy.
  Endpoint expose(const std::string& node, const Endpoint& upstream,
                  const std::string& replication_from = "");
  // From now on doors of expose() that are for no replica end TLS, and show this certificate; what they
  // speak to the upstream is plain. So rules see commands.
  void end_tls(const TlsOptions& shows);
  // The door to `node` for the other nodes of a Redis Cluster: their bus, at an upstream of its own. `node`
  // must be exposed. `from`: for that node alone, wherever it connects from.
  Endpoint expose_bus(const std::string& node, const Endpoint& upstream, const std::string& from = "");
  // From now on no server behind it speaks RESP. Rules on messages, triggers and watchers see nothing.
  void make_opaque();
  // A door of its own for the client of that name, wherever it connects from: a program that is no process of
  // the world. `node` must be exposed. lead() sends who comes to that door to another node from now on;
  // connections that exist stay where they are.
  Endpoint expose_to(const std::string& client, const std::string& node);
  void lead(const Endpoint& door, const std::string& node);
  // Throws std::system_error when it cannot listen there.
  Endpoint expose_at(const std::string& node, const Endpoint& upstream, const DoorOptions& options);
  void close_doors(const std::string& node);  // for good; connections stay
  // The server moved (restarted at another port).
  void redirect(const std::string& node, const Endpoint& upstream);

  // `node` is up when it is exposed. What its machine had said before it went off still arrives; what is sent
  // to it then is lost. When the machine is back, it knows of no connection: it answers what comes with a
  // reset, at once, or when what was sent meanwhile is sent again.
  void set_node(const std::string& node, NodeState state);

  RuleId add_rule(std::shared_ptr<Rule> rule);
  void remove_rule(RuleId id);  // what it held is passed on at once
  // What it held is passed on as TCP sends again what was not acknowledged: on each connection and way at a
  // moment of its own, up to as late again as it has waited. The first repetition comes after 200 to 300 ms,
  // each further one after twice the time, 120 s at most (RFC 6298 with the bounds of Linux).
  void heal_rule(RuleId id);
  void release_held(RuleId id);  // asks again for everything that it holds
  std::size_t reset_links(const std::function<bool(const Link&)>& which);  // breaks existing connections off
  std::size_t close_links(const std::function<bool(const Link&)>& which);  // the same, by an orderly end
  std::vector<Link> links() const;                                         // those that exist
  void count_bytes(ByteCounter counter);
  void watch(MessageWatcher watcher);  // which may act on each message
  void watch(MessageWatcher watcher, MayAct may_act);
  void watch_fates(FateWatcher watcher);
  void watch_passages(PassageWatcher& watcher);  // one; it outlives the traffic
  const ProxyStats& stats() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::sim
