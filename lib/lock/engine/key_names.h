// Names of what a lock keeps in Redis beside its own key: queues, counters, channels. One description, for
// the locks and for whoever reads a server:
//
//   key without '}'                 PREFIX:{key}        stock:42   ->  holdfast:token:{stock:42}
//   key with a hash tag in force    PREFIX::key         a{b}c      ->  holdfast:token::a{b}c
//   any other key with '}'          PREFIX:{tag}:key    x}y        ->  holdfast:token:{NUMBER}:x}y
//
// A hash tag is in force, as in Redis Cluster, when a '}' follows the first '{' with something between;
// NUMBER is the least one whose hash slot is that of the key.
//
// - Two keys, or two prefixes, never share a name: what follows "PREFIX:" begins with "{" or with ":", and
//   its first "}" ends the name only in the first form. (`x` and `{x}`: "PREFIX:{x}" and "PREFIX::{x}".)
// - A name lies in the hash slot of its key.
// - No lock can be named like a key beside another one: keys that begin with "holdfast:" are refused.
#pragma once

#include <string>
#include <string_view>

#include "lib/redis/hash_slot.h"

namespace holdfast {

// Every name beside a key begins with this, and no lock's key does.
inline constexpr std::string_view kNamesBegin = "holdfast:";

// As above. REQUIRES: `prefix` has no brace; `key` is not empty.
std::string beside_key(std::string_view prefix, std::string_view key);
// "holdfast:token:{key}": its last fencing token.
std::string token_key(std::string_view key);

using redis::hash_slot;

}  // namespace holdfast
