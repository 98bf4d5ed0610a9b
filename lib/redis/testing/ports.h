// Runs a test body on an implementation of the ports.
#pragma once

#include <functional>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis::testing {

enum class Ports { threads, embedded };
std::string to_string(Ports ports);

// Threads: the calling thread runs the body. Embedded: a world of its own, whose process "client" does; an
// exception of the body is passed on.
void on_ports(Ports ports, const std::function<void(Runtime&, Network&)>& body);

}  // namespace holdfast::redis::testing
