// Doorway: a listener of a world that decides, before a connection exists, what becomes of its first packet.
// Every listener of both worlds is one.
//
// Embedded: the screen is asked when the packet arrives. Real: a socket filter on the listener drops the
// packets that are to be lost, and the kernel of the other side tries again, as over any bad line; a
// listener that refuses everybody stops listening for that time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/net/network.h"

namespace holdfast::sim {

enum class Knock : std::uint8_t {
  let_in,
  refuse,  // at once, as where nobody listens. Real: only if everybody is refused, else he is let in
  lose     // no answer: who connects tries again after 1 s, 3 s, 7 s, ... (real: as its kernel does)
};

class Doorway : public Listener {
 public:
  // What becomes of who connects from `address`. It must not park, and lives as long as the listener.
  using Screen = std::function<Knock(const std::string& address)>;
  virtual void screen(Screen screen) = 0;
  // The screen answers otherwise from now on. `addresses`: all that may come. Throws std::system_error where
  // the system takes no filter.
  virtual void screen_changed(const std::vector<std::string>& addresses) = 0;
};

}  // namespace holdfast::sim
