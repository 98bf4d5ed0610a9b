// What this server says of its commands is what a real one says: arity, keys, and the flags that both know.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/redis/command.h"
#include "sim/redis/testing/local_server.h"

namespace holdfast::sim::embedded {
namespace {

const std::set<std::string> kCompared = {"write",    "readonly", "denyoom", "pubsub",  "noscript",
                                         "blocking", "no_auth",  "fast",    "no_multi"};

std::set<std::string> flags_of(const redis::Reply& info) {
  std::set<std::string> flags;
  for (const redis::Reply& flag : info.items.at(2).items) {
    if (kCompared.contains(flag.text)) flags.insert(flag.text);
  }
  return flags;
}

TEST(CommandTable, SaysWhatARealServerSays) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const TemporaryFolder folder;
  RedisProcess real(runtime, network, {.folder = folder.path() + "/real"});
  real.start();
  LocalServer ours;
  for (const CommandSpec& spec : CommandTable::instance().all()) {
    const std::string name(spec.name);
    if (name.starts_with("debug|")) continue;  // no subcommands of their own in a real server
    const redis::Reply theirs = real.call({"COMMAND", "INFO", name});
    ASSERT_FALSE(theirs.items.at(0).is_nil()) << name;
    redis::Reply info;
    const std::string bytes = ours.call({"COMMAND", "INFO", name});
    ASSERT_EQ(parse_reply(bytes, &info), bytes.size()) << name;
    for (const unsigned field : {1U, 3U, 4U, 5U}) {
      EXPECT_EQ(info.items.at(0).items.at(field).integer, theirs.items.at(0).items.at(field).integer)
          << name << ", field " << field;
    }
    if (spec.handler == nullptr) continue;  // flags are those of its subcommands
    EXPECT_EQ(flags_of(info.items.at(0)), flags_of(theirs.items.at(0))) << name;
  }
}

}  // namespace
}  // namespace holdfast::sim::embedded
