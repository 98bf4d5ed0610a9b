// Passages: what is under way through the proxy, told piece by piece: when it comes, what is meant to happen
// with it, and what became of it. For displays; who looks changes nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/proxy/proxy.h"

namespace holdfast::sim {

// A message, or a chunk of bytes where nobody takes the link apart. The views end with the call.
struct Passage {
  std::uint64_t number = 0;  // never used twice, never 0
  const Link& link;
  Direction direction = Direction::request;
  std::string_view bytes;
  const Message* message = nullptr;  // null: a chunk
  Action::Kind kind = Action::Kind::pass;
  Duration delay{};       // pass: it is kept back that long, at least
  bool replaced = false;  // other bytes go on in its place
};

class PassageWatcher {
 public:
  virtual ~PassageWatcher() = default;
  // It has come, on a task of the proxy, which must not park.
  virtual void came(const Passage& passage) = 0;
  // Once of each; not of what is still held when the proxy ends. What is held and then passes is delivered.
  virtual void went(std::uint64_t number, Fate fate) = 0;
};

}  // namespace holdfast::sim
