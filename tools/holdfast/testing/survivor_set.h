// Real servers for tests of `holdfast survivor`; who follows whom is up to the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::tools {

struct SurvivorSet {
  // What is other on server `i`; its folder is made.
  using PerServer = std::function<void(int i, RedisProcessOptions& options)>;

  TemporaryFolder folder;
  ThreadRuntime runtime;
  SocketNetwork network{runtime};
  std::vector<std::unique_ptr<RedisProcess>> servers;

  explicit SurvivorSet(int count, const PerServer& per_server = {}) {
    for (int i = 0; i < count; ++i) {
      RedisProcessOptions options{.folder = folder.path() + "/" + std::to_string(i),
                                  .settings = {"--save", "", "--repl-diskless-sync-delay", "0"}};
      if (per_server) per_server(i, options);
      servers.push_back(std::make_unique<RedisProcess>(runtime, network, std::move(options)));
      servers.back()->start();
    }
  }
  std::string address(std::size_t i) const { return servers.at(i)->endpoint().to_string(); }
  std::string members() const { return " --members " + address(0) + "," + address(1) + "," + address(2); }
  void follow(std::size_t replica, std::size_t primary) {
    servers.at(replica)->call(
        {"REPLICAOF", "127.0.0.1", std::to_string(servers.at(primary)->endpoint().port)});
    for (int i = 0; i < 3000; ++i) {
      const std::string info = servers.at(replica)->call({"INFO", "replication"}).text;
      if (info.find("master_link_status:up") != std::string::npos) return;
      runtime.sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "it does not come in";
  }
};

}  // namespace holdfast::tools
