// Place: where a test runs. Threads with real Redis servers are always there; sim/testing/worlds.cc adds the
// event loop with real servers, and the embedded world, to every test program that it is linked into. A
// program with lib/async/testing/loop_place.cc has one place, the loop of holdfast::async.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::testing {

enum class Where { threads, loop, event_loop, embedded };
std::string to_string(Where where);
// The places of this program, threads first.
std::vector<Where> everywhere();
// everywhere() without the embedded world.
std::vector<Where> on_real_time();
// Those with processes that a test can pause and kill: everywhere() without threads and the loop.
std::vector<Where> worlds();

struct Fixture;
class Servers;

class Place {
 public:
  virtual ~Place() = default;
  // Runs `body` on a task of a process. Exceptions are passed on.
  virtual void on_ports(const std::function<void(Runtime&, Network&)>& body) = 0;
  // The same with `count` independent Redis servers, which are gone afterwards. `attempt`: Fixture::attempt.
  virtual void on_servers(int count, int attempt, const std::function<void(Fixture&, Servers&)>& body) = 0;
};

// The first line of a test that needs virtual time, in a program without the harness.
#define HF_NEEDS_VIRTUAL_TIME()                                              \
  if (!::holdfast::testing::has_place(::holdfast::testing::Where::embedded)) \
  GTEST_SKIP() << "built without the harness: no virtual time"

// Adds a place, before main() begins. Returns true.
bool add_place(Where where, std::unique_ptr<Place> place);
// Takes one away, likewise.
bool remove_place(Where where);
bool has_place(Where where);
// REQUIRES: it is there.
Place& place(Where where);

inline void on_ports(Where where, const std::function<void(Runtime&, Network&)>& body) {
  place(where).on_ports(body);
}

}  // namespace holdfast::testing
