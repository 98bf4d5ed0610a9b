// `holdfast external init DIR [PROGRAM...]`: a scenario, an adapter and a workflow to start from; for a
// program that is not changed, no adapter.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

constexpr std::string_view kScenario = R"(schema = 1
name   = "our-lock"
about  = "Our lock while the primary dies before its replica has heard of the grant"

[run]
seeds = "1..5"
time  = "30s"

[cluster]
topology = "primary-replica"
nodes    = ["r1", "r2"]

[lock]
kind  = "external"
lease = "5s"

# One process for each client, in the folder of this file. A program that ends with an error when its server goes away is a
# client that died, unless it told nothing yet.
[workload]
kind     = "external"
command  = ["/usr/bin/python3", "our_lock.py"]
clients  = 3
stock    = 6
may_fail = true

# The replica falls behind, the primary dies right after a grant, the replica takes over.
[[fault]]
id   = "lag"
kind = "replication-lag"
node = "r2"
at   = "0s"
for  = "6s"

[[fault]]
id    = "kill-primary"
kind  = "crash"
node  = "r1"
after = { event = "lock.granted", nth = 1, delay = "0ms..5ms" }

[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill-primary", delay = "100ms" }

# What we want. A lock on one primary does not do it: the run fails, and tells how.
[[expect]]
check = "mutual-exclusion"

# A program that does not use the stock has no sales, and `oversell` is unknown: leave it out then.
[[expect]]
check = "oversell"

[[expect]]
check = "reached"
marks = ["fault.lag", "fault.kill-primary", "fault.promote", "granted-after-promotion"]

# Without the failover everything must hold.
[[variant]]
name   = "no-failover"
set    = { "fault.kill-primary.enabled" = false, "fault.promote.enabled" = false }
expect = [{ check = "mutual-exclusion" }, { check = "oversell" }, { check = "progress" }]
)";

// COMMAND is put in.
constexpr std::string_view kWatched = R"(schema = 1
name   = "our-lock"
about  = "Our program while the primary dies before its replica has heard of the grant"

[run]
seeds = "1..5"
time  = "60s"

[cluster]
topology = "primary-replica"
nodes    = ["r1", "r2"]

[lock]
kind = "external"

# One process for each client, in the folder of this file. It is not changed, and tells nothing: its commands and their answers
# say when it has its lock. `holdfast list recognisers` has the locks that are known.
# What it sends to port 6379 of this machine goes through the proxy. A program that has its server from a variable instead:
# environment = ["REDIS_URL=$HOLDFAST_REDIS_URL"]
# One that ends with an error when its server goes away is a client that died, and is started again, as by a supervisor.
[workload]
kind       = "external"
command    = COMMAND
judge      = "watched"
recogniser = "set-nx"
port       = 6379
clients    = 3
may_fail   = true
restart    = "200ms"

# The replica hears nothing more, the primary dies right after a grant, the replica takes over. Whoever has the lock is at work
# until another one is granted it.
[[fault]]
id   = "lag"
kind = "replication-lag"
node = "r2"
at   = "0s"

[[fault]]
id     = "long-work"
kind   = "pause-client"
client = "$client"
after  = { event = "lock.granted", nth = 1 }
until  = { event = "lock.granted", nth = 1, delay = "200ms" }

[[fault]]
id    = "kill-primary"
kind  = "crash"
node  = "r1"
after = { fault = "long-work", delay = "0ms..5ms" }

[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill-primary", delay = "100ms" }

# What we want. A lock on one primary does not do it: the run fails, and tells how.
[[expect]]
check = "mutual-exclusion"

[[expect]]
check = "reached"
marks = ["fault.lag", "fault.kill-primary", "fault.promote", "granted-after-promotion"]

# Without the failover everything must hold.
[[variant]]
name   = "no-failover"
set    = { "fault.kill-primary.enabled" = false, "fault.promote.enabled" = false, "fault.long-work.enabled" = false }
expect = [{ check = "mutual-exclusion" }, { check = "progress" }]
)";

constexpr std::string_view kAdapter = R"(import json, os, socket, time, redis

def tell(type, f): print(json.dumps({"type": type, "f": f}), flush=True)

host, port = os.environ["HOLDFAST_EFFECTS"].split(":")
stock = socket.create_connection((host, int(port))).makefile("rw")
def ask(line):
    stock.write(line + "\n"); stock.flush()
    return stock.readline().strip()

def again(call):  # a failover breaks connections
    while True:
        try: return call()
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError): time.sleep(0.05)

server = redis.Redis.from_url(os.environ["HOLDFAST_REDIS_URL"], socket_timeout=2)
lock = server.lock(os.environ["HOLDFAST_KEYS"], timeout=5)
left = 1
while left > 0:
    tell("invoke", "acquire"); again(lock.acquire); tell("ok", "acquire")
    left = int(ask("READ"))
    time.sleep(0.4)
    if left > 0: ask(f"SELL {left - 1}")
    tell("invoke", "release")
    try: again(lock.release); tell("ok", "release")
    except redis.exceptions.LockError: tell("fail", "release")
)";

constexpr std::string_view kWorkflow =
    R"(# Put this into .github/workflows/, and say in HOLDFAST where you have the sources of Holdfast.
name: lock
on: [push, pull_request]
jobs:
  lock:
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    container: {image: "debian:12", options: --init}
    env:
      HOLDFAST: https://example.org/holdfast.git
    steps:
      - run: apt-get update && apt-get install -y --no-install-recommends git ca-certificates python3-redis
      - uses: actions/checkout@v4
      - run: git clone --depth 1 "$HOLDFAST" /opt/holdfast
      - run: /opt/holdfast/tools/run FOLDER/our_lock.toml --world real --github --junit lock.xml --out lock-runs
      - if: failure()
        uses: actions/upload-artifact@v4
        with: {name: lock-runs, path: lock-runs}
)";

// A program and its arguments as a TOML list, for a scenario in `folder`: files that are there now are named
// so that they are found from it.
std::string toml_of(const std::vector<std::string>& program, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::string list;
  for (std::string word : program) {
    if (list.empty() && word == "--") continue;
    std::error_code error;
    const bool by_path =
        !list.empty() || word.find('/') != std::string::npos;  // else it is looked for in PATH
    if (by_path && fs::is_regular_file(word, error) && fs::path(word).is_relative()) {
      const fs::path there = fs::absolute(word).lexically_normal();
      const fs::path from = fs::absolute(folder).lexically_normal();
      word = there.lexically_relative(from).string();
      if (word.find('/') == std::string::npos) word.insert(0, "./");
    }
    list += list.empty() ? "[" : ", ";
    list += nlohmann::json(word).dump();
  }
  return list + "]";
}

}  // namespace

ExitCode external_command(const ExternalArguments& arguments) {
  namespace fs = std::filesystem;
  if (arguments.what != "init")
    throw BadUsage("external: unknown action `" + arguments.what + "`, expected init");
  std::string workflow(kWorkflow);
  const fs::path folder = fs::path(arguments.folder).lexically_normal();
  const std::string shown = folder.is_absolute() ? "." : folder.string();
  workflow.replace(workflow.find("FOLDER"), 6, shown);
  std::string scenario(arguments.program.empty() ? kScenario : kWatched);
  if (!arguments.program.empty())
    scenario.replace(scenario.find("COMMAND"), 7, toml_of(arguments.program, folder));
  std::vector<std::pair<std::string, std::string>> files = {{"our_lock.toml", scenario}};
  if (arguments.program.empty()) files.emplace_back("our_lock.py", kAdapter);
  files.emplace_back("our_lock.workflow.yml", workflow);
  for (const auto& [name, text] : files) {
    std::error_code error;
    if (fs::exists(folder / name, error))
      throw BadUsage(fmt::format("external init: {} is there already, expected a folder without it",
                                 (folder / name).string()));
  }
  for (const auto& [name, text] : files) {
    write_file((folder / name).string(), text);
    print_out(fmt::format("{}\n", for_terminal((folder / name).string())));
  }
  print_out(fmt::format("Next: {} run {} --world real\n", for_shell(arguments.command),
                        for_shell((folder / "our_lock.toml").string())));
  return kMet;
}

}  // namespace holdfast::tools
