// SocksDoor: the way by which one server connects to others of its ensemble. Such a server knows each of the
// others by one address that all share, and connects from where the kernel has it connect from: nothing tells
// a proxy which of them it is. But it can be told to go by a SOCKS proxy (RFC 1928), and each has one to
// itself, which leads on to doors that are for it alone (Proxy::expose_bus).
#pragma once

#include <map>
#include <memory>

#include "lib/net/network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class SocksDoor {
 public:
  // Serves on tasks of the harness, from now on until the world ends or the object goes; connections end
  // then.
  explicit SocksDoor(World& world);
  ~SocksDoor();

  // Who asks for `asked` is connected to `to` from now on. Everything else is not allowed (reply 2).
  // `host`: who is reached there in the end. A proxy takes every connection and breaks it off when that one
  // does not listen; who asks here is refused then (reply 5), as without a proxy.
  void lead(const Endpoint& asked, const Endpoint& to, const Endpoint& host);
  Endpoint endpoint() const;  // where it listens

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::sim
