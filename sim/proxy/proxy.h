// Proxy: a process on Network through which every connection to a server goes: the place where links go
// wrong, and from where the ledger is kept. The same code runs in both worlds, on client links and on
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
#include "sim/world/world.h"

namespace holdfast::sim {

enum class Direction : std::uint8_t { request, reply };  // towards the server / from the server

struct Link {
  std::string from;  // client or, on a replication link, the replica
  std::string to;    // the server node
  bool replication =
      false;  // known from the first REPLCONF, PSYNC or SYNC on; by name from the start if `from` is a node
};

// One whole RESP message on a link. A MULTI ... EXEC of a client or in a replication stream is one message.
struct Message {
  const Link& link;
  Direction direction;
  std::string_view bytes;
  std::string_view command;  // upper case; of the request that a reply answers; "" for pushes
  const std::vector<std::string_view>& arguments;  // of that request, command included
  const redis::Reply* reply = nullptr;             // replies only
};

// What happens to a message (or to a chunk of bytes).
struct Action {
  enum class Kind {
    pass,
    hold,   // stop here, in order, until the rule calls Proxy::release_held(); FIN and resets are held back
            // too
    drop,   // swallow it
    reset,  // break the connection off instead of passing it on
    pass_half_then_reset,
  };
  Kind kind = Kind::pass;
  Duration delay{};  // pass: keep it back that long; order within a link is kept
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual bool applies(const Link& link) const = 0;
  virtual bool needs_messages() const = 0;  // false: on_bytes() is asked, and the link need not be parsed
  virtual bool refuses(const Link& link) { return static_cast<void>(link), false; }  // a new connection
  virtual Action on_message(const Message& message) { return static_cast<void>(message), Action{}; }
  virtual Action on_bytes(const Link& link, Direction direction, std::string_view bytes) {
    return static_cast<void>(link), static_cast<void>(direction), static_cast<void>(bytes), Action{};
  }
};

using RuleId = std::uint64_t;

// Sees every message of client links in the order in which they pass, before they are passed on (so that a
// fault that it fires acts first). While there is at least one watcher, client links are parsed.
using MessageWatcher = std::function<void(const Message& message)>;

class Proxy {
 public:
  // Runs as a process of `world`, named "proxy".
  explicit Proxy(World& world);
  ~Proxy();

  // Opens the door to `node`: whoever connects to the endpoint returned reaches `upstream` at that moment.
  // `replication_from`: a door for one named replica. REQUIRES: called on a task of the harness.
  Endpoint expose(const std::string& node, const Endpoint& upstream,
                  const std::string& replication_from = "");
  // The server moved (restarted at another port).
  void redirect(const std::string& node, const Endpoint& upstream);

  RuleId add_rule(std::shared_ptr<Rule> rule);
  void remove_rule(RuleId id);   // what it held is passed on
  void release_held(RuleId id);  // asks again for everything that it holds
  std::size_t reset_links(const std::function<bool(const Link&)>& which);  // breaks existing connections off
  void watch(MessageWatcher watcher);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::sim
