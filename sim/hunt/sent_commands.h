// Which commands clients send in a run, and how often, but for those that open a connection.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "sim/proxy/proxy.h"
#include "sim/scenario/run_observer.h"

namespace holdfast::sim {

class SentCommands final : public RunObserver {
 public:
  void begins(World&, Proxy& proxy, Cluster&) override {
    const auto see = [this](const Message& message) {
      static const std::set<std::string_view> kOpening = {"",     "HELLO",    "CLIENT", "AUTH", "SELECT",
                                                          "PING", "SENTINEL", "ROLE",   "INFO", "CLUSTER"};
      if (message.direction != Direction::request || !message.link.of_client()) return;
      if (!kOpening.contains(message.command)) ++counts_[std::string(message.command)];
    };
    proxy.watch(see, [](const Message&) { return false; });
  }
  embedded::KeyspaceWitness* witness(const std::string&, embedded::KeyspaceWitness* also) override {
    return also;
  }
  void records(Recorder&) override {}
  void ends() override {}

  const std::map<std::string, std::int64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace holdfast::sim
