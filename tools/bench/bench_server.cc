#include "tools/bench/bench_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "lib/testing/server/processes.h"

namespace holdfast::tools {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kCompareAndDelete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
// Sets every key that redis-benchmark may draw, so that each is held.
constexpr std::string_view kHoldAll =
    "for i = 0, tonumber(ARGV[1]) - 1 do redis.call('set', string.format('lock:%012d', i), 'v', 'px', 30000) "
    "end";

}  // namespace

std::string run_program(const std::string& program, const std::vector<std::string>& arguments, Duration limit,
                        const std::function<bool()>& interrupted) {
  const TemporaryFolder folder;
  const std::string output = folder.path() + "/output";
  ChildProcess child({.program = program, .arguments = arguments, .folder = folder.path(), .output = output});
  const auto end = steady_clock::now() + limit;
  while (child.running()) {
    if (interrupted && interrupted()) throw std::runtime_error("interrupted");
    if (steady_clock::now() > end) throw std::runtime_error(program + " did not end in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::ifstream file(output);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

BenchServers::BenchServers(int count, Are are, const std::vector<std::string>& settings) {
  raise_limits();
  std::vector<std::string> all = {
      "--maxclients", "25000", "--tcp-backlog", "4096", "--repl-diskless-sync-delay", "0"};
  all.insert(all.end(), settings.begin(), settings.end());
  for (int i = 1; i <= count; ++i) {
    const std::string name = "r" + std::to_string(i);
    servers_.push_back(std::make_unique<RedisProcess>(
        runtime_, network_, RedisProcessOptions{.folder = folder_.path() + "/" + name, .settings = all}));
    servers_.back()->start();
    nodes_.push_back({name, servers_.back()->endpoint()});
  }
  if (are == Are::one_set) follow();
}

void BenchServers::follow() {
  const auto& primary = nodes_.front().endpoint;
  for (std::size_t i = 1; i < servers_.size(); ++i) {
    servers_[i]->call({"REPLICAOF", primary.host, std::to_string(primary.port)});
  }
  for (std::size_t i = 1; i < servers_.size(); ++i) {
    while (servers_[i]->call({"INFO", "replication"}).text.find("master_link_status:up") ==
           std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void BenchServers::raise_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

void BenchServers::flush() {
  for (auto& server : servers_) server->call({"FLUSHALL"});
}

std::string BenchServers::info(std::string_view field) {
  const std::string text = servers_.front()->call({"INFO", "all"}).text;
  const std::size_t at = text.find("\r\n" + std::string(field) + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + 3 + field.size();
  return text.substr(begin, text.find("\r\n", begin) - begin);
}

ServerUsage BenchServers::usage() {
  ServerUsage all;
  for (const auto& server : servers_) {
    const std::string text = server->call({"INFO", "all"}).text;
    const auto number = [&text](const char* name) {
      const std::size_t at = text.find(name);
      return at == std::string::npos ? 0.0 : std::strtod(text.c_str() + at + std::strlen(name), nullptr);
    };
    all.sets += number("cmdstat_set:calls=");
    all.scripts += number("cmdstat_evalsha:calls=") + number("cmdstat_eval:calls=");
    all.received_bytes += number("total_net_input_bytes:");
    all.sent_bytes += number("total_net_output_bytes:");
    all.cpu_seconds += number("used_cpu_user:") + number("used_cpu_sys:");
  }
  return all;
}

double BenchServers::cpu_seconds() const {
  double seconds = 0;
  for (const auto& server : servers_) seconds += cpu_seconds_of(server->pid());
  return seconds;
}

double BenchServers::benchmark(const std::vector<std::string>& flags,
                               const std::vector<std::string>& command) {
  const std::string program = find_program("redis-benchmark");
  if (program.empty()) return 0;
  std::vector<std::string> arguments = {"-h", nodes_.front().endpoint.host, "-p",
                                        std::to_string(nodes_.front().endpoint.port), "--csv"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), command.begin(), command.end());
  const std::string text = run_program(program, arguments, std::chrono::seconds(60));
  // The last line: "SET ...","123456.78",...
  const std::size_t line = text.rfind("\n\"") == std::string::npos ? 0 : text.rfind("\n\"") + 1;
  const std::size_t number = text.find("\",\"", line);
  const double rate = number == std::string::npos ? 0 : std::strtod(text.c_str() + number + 3, nullptr);
  if (rate <= 0) throw std::runtime_error("redis-benchmark said: " + text);
  return rate;
}

double BenchServers::benchmark_pairs(int in_flight, int connections, int commands) {
  if (find_program("redis-benchmark").empty()) return 0;
  const std::string keys = std::to_string(2 * commands);
  const std::vector<std::string> flags = {"-c", std::to_string(connections), "-P", std::to_string(in_flight),
                                          "-n", std::to_string(commands),    "-r", keys};
  RedisProcess& server = *servers_.front();
  server.call({"FLUSHALL"});
  const double set = benchmark(flags, {"SET", "lock:__rand_int__", "v", "NX", "PX", "30000"});
  server.call({"EVAL", std::string(kHoldAll), "0", keys});
  const std::string sha = server.call({"SCRIPT", "LOAD", std::string(kCompareAndDelete)}).text;
  const double script = benchmark(flags, {"EVALSHA", sha, "1", "lock:__rand_int__", "v"});
  server.call({"FLUSHALL"});
  return 1 / (1 / set + 1 / script);
}

}  // namespace holdfast::tools
