// Short form: a RESP command or answer in a few words, for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/reply.h"
#include "sim/proxy/passage.h"

namespace holdfast::sim {

// The acquisition ("c1-7") that a piece of a record or a command names, or "".
using OwnerOf = std::function<std::string(std::string_view text)>;

// "SET stock:1 <c1-7> PX 5000 NX": an owner by the short name of its acquisition, a script by the name of its
// file ("EVALSHA reentrant_acquire stock:1 ..."). Printable, a few hundred characters at most.
std::string short_request(const std::vector<std::string_view>& arguments, const OwnerOf& owner);
// "OK", "nil", "1", "[1, nil]", "-MOVED 3 r2".
std::string short_reply(const redis::Reply& reply, const OwnerOf& owner);

struct ShortForm {
  std::string text;
  bool routine = false;  // says that somebody is there, and nothing of a lock
};
ShortForm short_form(const Passage& passage, const OwnerOf& owner);

}  // namespace holdfast::sim
