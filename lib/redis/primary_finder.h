// Connecting to a node, and finding the primary among several.
//
// The primary is the node whose ROLE says master. When two nodes say so (an old primary that nobody demoted
// yet), the first one in the order of asking wins; the order begins with the one that was the primary last.
//
// With Sentinels, these are asked instead (sentinels.h), and the node that they name must say so itself.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/redis/servers.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

// What a client that uses Sentinels has heard.
struct Hint {
  std::optional<std::size_t> sentinel = std::nullopt;  // is asked first
  // Connected to while they are asked: when they name it, too, that is done already.
  std::optional<Endpoint> primary = std::nullopt;
};

struct Found {
  std::unique_ptr<Stream> stream;  // handshake done, nothing outstanding; null: not found
  std::size_t node = 0;            // of Servers
  std::string why_not;             // one reason per node
  std::string warning;             // what the user should mend in the server that was found; "": nothing
  // Set when trying again is no use before a person has mended something: unauthorized, untrusted,
  // unsupported, protocol (it is no Redis) when some node says so; unreachable when nobody listens at any
  // address.
  std::optional<Error::Kind> hopeless;
  std::string code;           // "NOAUTH", ...: the server's word for it, if any
  std::string hopeless_node;  // who says so; "" if it is all of them
};

// [parks] Connects to the node and does the handshake (AUTH, HELLO, SELECT, CLIENT SETNAME, INFO memory, and
// with `ask_role` ROLE), within options.connect_timeout. Not found without an attempt: servers.ended().
Found connect_to_node(Runtime& runtime, Network& network, const ClientOptions& options,
                      const Servers& servers, std::size_t node, bool ask_role);

// [parks] Tries every node once, beginning with `first`. With one node, that node is the primary unasked.
// With Sentinels: the node that they name, once; see Hint.
Found find_primary(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
                   std::size_t first, const Hint& hint = {});

// The name by which errors call a node.
std::string node_name(const Node& node);

// How long to wait before an attempt after `failures` (>= 1) failed ones: doubled each time, with jitter of
// one half, so that many clients do not come back at the same moment.
Duration backoff(Runtime& runtime, const ClientOptions& options, std::size_t failures);

}  // namespace holdfast::redis
