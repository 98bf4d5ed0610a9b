// What the tests of published designs share: where they run, and a client of its own with one lock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string_view>

#include "lib/testing/relay.h"
#include "lib/testing/stand.h"

namespace holdfast::historic {

// A test suite on threads and on an event loop with a real server, and in the embedded world.
class PortsTest : public ::testing::TestWithParam<holdfast::testing::Where> {
 protected:
  static void run(const std::function<void(holdfast::testing::Stand&)>& body) {
    holdfast::testing::on_stand(GetParam(), body);
  }
};

#define HF_ON_ALL_PORTS(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Ports, suite, ::testing::ValuesIn(::holdfast::testing::everywhere()), \
                           [](const auto& info) { return ::holdfast::testing::to_string(info.param); })

template <class AnyLock>
struct Peer {
  explicit Peer(holdfast::testing::Stand& stand, LockOptions options = {})
      : client(stand.runtime, stand.network, stand.options()), lock(client, options, "k") {}
  // Through a relay.
  Peer(holdfast::testing::Stand& stand, holdfast::testing::Relay& relay, LockOptions options = {})
      : client(stand.runtime, stand.network, stand.options(relay.endpoint())), lock(client, options, "k") {
    client.call({"PING"});
  }
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }

  redis::Client client;
  AnyLock lock;
};

}  // namespace holdfast::historic
