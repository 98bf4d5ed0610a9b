// Runs a test body on an implementation of the ports.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis::testing {

enum class Ports { threads, embedded, event_loop };
std::string to_string(Ports ports);
inline auto all_ports() { return ::testing::Values(Ports::threads, Ports::embedded, Ports::event_loop); }

// Threads: the calling thread runs the body. Embedded and event loop: the main task of a world of its own
// does; an exception of the body is passed on.
void on_ports(Ports ports, const std::function<void(Runtime&, Network&)>& body);

}  // namespace holdfast::redis::testing
