// What the tests of published designs share: where they run, and a client of its own with one lock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string_view>

#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast::historic {

// A test suite on threads and on an event loop with a real server, and in the embedded world.
class PortsTest : public ::testing::TestWithParam<holdfast::testing::Where> {
 protected:
  static void run(const std::function<void(holdfast::testing::Fixture&)>& body) {
    holdfast::testing::with_fixture(GetParam(), body);
  }
};

#define HF_ON_ALL_PORTS(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Ports, suite, ::testing::ValuesIn(::holdfast::testing::everywhere()), \
                           [](const auto& info) { return ::holdfast::testing::to_string(info.param); })

template <class AnyLock>
struct Peer {
  explicit Peer(holdfast::testing::Fixture& fixture, LockOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options()), lock(client, options, "k") {}
  // Through a link.
  Peer(holdfast::testing::Fixture& fixture, holdfast::testing::FaultyLink& link, LockOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        lock(client, options, "k") {
    client.call({"PING"});
  }
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }

  redis::Client client;
  AnyLock lock;
};

}  // namespace holdfast::historic
