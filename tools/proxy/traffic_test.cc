// What is counted of the traffic, and what becomes of two looks at it.
#include "tools/proxy/traffic.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/proxy/latency.h"
#include "tools/proxy/traffic_view.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;

TEST(Latency, KnowsQuantilesToAnEighth) {
  Latency latency;
  EXPECT_EQ(latency.quantile_us(0.5), 0u);
  for (std::int64_t us = 1; us <= 100'000; ++us) latency.record(us);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = q * 100'000;
    EXPECT_GE(static_cast<double>(latency.quantile_us(q)), exact) << q;
    EXPECT_LE(static_cast<double>(latency.quantile_us(q)), exact * 1.126) << q;
  }
  latency = {};
  latency.record(7);
  EXPECT_EQ(latency.quantile_us(0.99), 7u) << "small times are exact";
}

TEST(Latency, WhatCameSince) {
  Latency before, now;
  for (int i = 0; i < 100; ++i) before.record(10), now.record(10);
  for (int i = 0; i < 5; ++i) now.record(3'000'000);
  EXPECT_EQ(now.since(before).count(), 5u);
  EXPECT_GE(now.since(before).quantile_us(0.01), 3'000'000u);
  EXPECT_EQ(now.since(now).count(), 0u);
}

TEST(HotKeys, FindsWhatIsAskedForMostAmongMany) {
  HotKeys keys;
  for (int i = 0; i < 100'000; ++i) {
    keys.count("key:" + std::to_string(i));
    if (i % 10 == 0) keys.count("hot");
    if (i % 20 == 0) keys.count("warm");
  }
  const auto top = keys.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].first, "hot");
  EXPECT_EQ(top[1].first, "warm");
  EXPECT_LE(top[0].second, 10'000u);
  EXPECT_GE(top[0].second, 10'000u - 115'000u / HotKeys::kMost);
}

json look(std::int64_t seconds, std::uint64_t commands, std::uint64_t hits, json latency) {
  return {
      {"time_ns", seconds * 1'000'000'000},
      {"proxies",
       {{{"name", "redis"},
         {"listen", "127.0.0.1:26379"},
         {"upstream", "127.0.0.1:6379"},
         {"enabled", true},
         {"redis", true},
         {"clients",
          {{{"name", "worker\x1b[31m"},
            {"connections", 2},
            {"commands", commands},
            {"in_flight", 1},
            {"destroyed", hits},
            {"bytes", {{"upstream", commands * 1000}, {"downstream", commands * 10}}},
            {"latency", std::move(latency)}},
           {{"name", "gone"},
            {"connections", 0},
            {"commands", 5},
            {"in_flight", 0},
            {"destroyed", 0},
            {"bytes", {{"upstream", 50}, {"downstream", 50}}},
            {"latency", json::array()}}}},
         {"toxics", {{{"name", "cut"}, {"type", "reset_peer"}, {"stream", "downstream"}, {"hits", hits}}}}}}},
      {"keys", {{{"key", "stock"}, {"commands", commands}}}},
      {"locks", {{{"key", "stock"}, {"client", "worker"}, {"held_ms", 1500}, {"lease_left_ms", 3500}}}}};
}

TEST(TrafficView, RatesAreTheDifferenceOfTwoLooks) {
  const json between = traffic_between(look(10, 100, 1, {{7, 4}}), look(12, 300, 7, {{7, 4}, {15, 2}}));
  const json& proxy = between.at("proxies").at(0);
  ASSERT_EQ(proxy.at("clients").size(), 1u) << "who has gone and did nothing is left out";
  const json& client = proxy.at("clients").at(0);
  EXPECT_EQ(between.at("seconds"), 2.0);
  EXPECT_EQ(client.at("commands_per_second"), 100.0);
  EXPECT_EQ(client.at("upstream_bytes_per_second"), 100'000.0);
  EXPECT_EQ(client.at("destroyed"), 6);
  EXPECT_EQ(client.at("p50_us"), 15) << "what was answered before the first look does not count";
  EXPECT_EQ(proxy.at("toxics").at(0).at("hits"), 7);
  EXPECT_EQ(proxy.at("toxics").at(0).at("hits_per_second"), 3.0);
  EXPECT_EQ(between.at("keys").at(0).at("commands_per_second"), 100.0);
}

TEST(TrafficView, LinesForPeople) {
  const json between = traffic_between(look(10, 100, 1, {}), look(12, 300, 7, {{15, 2}}));
  const std::string text = traffic_text(between, Terminal{});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "a name of a client steers no terminal";
  for (const char* part :
       {"proxy redis  127.0.0.1:26379 -> 127.0.0.1:6379\n", " 100.0 kB ", " 15 us ",
        "  toxic cut (reset_peer, downstream): 7 hits, 3.0 a second\n",
        "lock stock  held by worker for 1.5 s, 3.5 s of its lease left\n", "key stock  100 commands/s\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

}  // namespace
}  // namespace holdfast::tools
