#include "tools/bench/bench_peers.h"
#include "tools/bench/folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

const std::string kPeers = checkout_path("tools/bench/peers");
const std::string kInstalled = build_folder_path("peers/node");

const std::vector<std::string> kOfNpm = {"redis-semaphore", "redlock"};

// Installs the packages of the lock file into the build folder, unless they are there. Returns "" or why
// that failed.
std::string install_from_npm() {
  if (find_program("node").empty()) return "node is not installed (apt-get install nodejs npm)";
  const auto there = [] {
    return std::all_of(kOfNpm.begin(), kOfNpm.end(), [](const std::string& library) {
      return fs::exists(kInstalled + "/node_modules/" + library + "/package.json");
    });
  };
  if (!there()) {
    const std::string npm = find_program("npm");
    if (npm.empty()) return "npm is not installed (apt-get install npm)";
    fs::create_directories(kInstalled);
    for (const char* file : {"package.json", "package-lock.json", ".npmrc"}) {
      fs::copy_file(kPeers + "/node/" + file, kInstalled + "/" + file, fs::copy_options::overwrite_existing);
    }
    std::string said;
    try {
      said = run_program(npm, {"ci", "--prefix", kInstalled, "--ignore-scripts", "--no-audit", "--no-fund"},
                         seconds(120), Bench::interrupted);
    } catch (const std::exception& error) {
      said = error.what();
    }
    if (!there()) {
      const std::size_t at = said.find("npm error");
      const std::string line = at == std::string::npos ? said : said.substr(at);
      return "`npm ci` failed: " + line.substr(0, line.find('\n'));
    }
  }
  fs::copy_file(kPeers + "/node/peer.js", kInstalled + "/peer.js", fs::copy_options::overwrite_existing);
  return "";
}

void fill(Histogram& histogram, const nlohmann::json& samples) {
  for (const auto& sample : samples) histogram.record(sample.get<std::int64_t>());
}

// A script of peers/ that says whether its interpreter has the library.
void add_script(Bench& bench, std::vector<PeerLibrary>& peers, PeerLibrary peer,
                const std::string& interpreter, const std::string& script, const std::string& install) {
  peer.command = {find_program(interpreter), kPeers + "/" + script};
  std::string said;
  try {
    if (!peer.command.front().empty())
      said = run_program(peer.command.front(), {peer.command.back(), "--there"}, seconds(60),
                         Bench::interrupted);
  } catch (const std::exception& error) {
    said = error.what();
  }
  if (Bench::interrupted()) throw BenchInterrupted();
  if (said.find("has it") != std::string::npos) return peers.push_back(std::move(peer));
  bench.note(peer.name + " is left out: apt-get install " + install);
}

}  // namespace

std::string find_python(const std::string& module) {
  std::vector<std::string> candidates = {find_program("python3"), "/usr/bin/python3"};
  for (const std::string& python : candidates) {
    if (python.empty() || !fs::exists(python)) continue;
    try {
      const std::string said = run_program(python, {"-c", "import " + module + "; print('has it')"},
                                           seconds(60), Bench::interrupted);
      if (said.find("has it") != std::string::npos) return python;
    } catch (const std::exception&) {  // try the next one
    }
  }
  return "";
}

std::vector<PeerLibrary> find_peers(Bench& bench) {
  std::vector<PeerLibrary> peers;
  if (!bench.arguments().peers) return peers;
  const std::string python = find_python("redis");
  if (Bench::interrupted()) throw BenchInterrupted();
  if (python.empty()) {
    bench.note("redis-py is left out: no python3 that has it (apt-get install python3-redis)");
  } else {
    peers.push_back({"redis-py Lock", {python, kPeers + "/redis_py.py"}, false});
  }
  const std::string problem = install_from_npm();
  if (Bench::interrupted()) throw BenchInterrupted();
  if (!problem.empty()) {
    for (const std::string& library : kOfNpm) bench.note(library + " is left out: " + problem);
  } else {
    const auto program = [](const std::string& library) {
      return std::vector<std::string>{find_program("node"), kInstalled + "/peer.js", "--library", library};
    };
    peers.push_back(
        {.name = "redis-semaphore", .command = program("redis-semaphore"), .shares_connection = true});
    peers.push_back({.name = "npm redlock",
                     .command = program("redlock"),
                     .shares_connection = true,
                     .quorum = true,
                     .version_of = "redlock"});
  }
  add_script(bench, peers, {.name = "Symfony Lock"}, "php", "symfony_lock.php",
             "php-cli php-symfony-lock php-redis");
  add_script(bench, peers, {.name = "redis-rb SET NX", .version_of = "redis-rb"}, "ruby", "ruby_set_nx.rb",
             "ruby ruby-redis");
  return peers;
}

LoadResult run_peer(Bench& bench, const PeerLibrary& peer, const Load& load) {
  BenchServers& servers = peer.quorum ? bench.independent() : bench.servers();
  const double length = std::chrono::duration<double>(load.length).count();
  std::vector<std::string> arguments(peer.command.begin() + 1, peer.command.end());
  for (const redis::Node& node : peer.quorum ? servers.nodes() : servers.first()) {
    arguments.emplace_back("--port");
    arguments.push_back(std::to_string(node.endpoint.port));
  }
  const std::vector<std::string> flags = {
      "--callers", std::to_string(load.callers),
      "--keys",    std::to_string(load.keys),
      "--hold-ms", fmt::format("{}", std::chrono::duration<double, std::milli>(load.hold).count()),
      "--seconds", fmt::format("{}", length)};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (load.per_client == 0 && load.callers > 1) arguments.push_back("--shared");
  const ServerUsage before = servers.usage();
  const std::string said = run_program(peer.command.front(), arguments,
                                       load.length + std::chrono::seconds(60), Bench::interrupted);
  const ServerUsage after = servers.usage();
  servers.flush();
  const auto json = nlohmann::json::parse(
      said.substr(said.rfind('{') == std::string::npos ? 0 : said.find('{')), nullptr, false);
  if (json.is_discarded()) throw std::runtime_error(peer.name + " said: " + said.substr(0, 200));
  bench.result().versions[peer.version_of.empty() ? peer.name : peer.version_of] = json.value("version", "");
  LoadResult result;
  result.seconds = json.at("seconds").get<double>();
  result.grants = json.at("grants").get<std::vector<std::uint64_t>>();
  for (const std::uint64_t grants : result.grants) result.pairs += grants;
  fill(result.wait, json.at("wait"));
  fill(result.any_wait, json.at("wait"));
  fill(result.any_wait, json.at("unfinished"));
  fill(result.pair, json.at("pair"));
  fill(result.hand_off, json.at("hand_off"));
  result.longest_wait_ns = json.at("longest_wait").get<std::int64_t>();
  result.errors = json.at("errors").get<std::uint64_t>();
  // Commands inside scripts are not counted; of some of these libraries every command is a script.
  result.commands = after.sets + after.scripts - before.sets - before.scripts;
  result.sent_bytes = after.received_bytes - before.received_bytes;
  result.received_bytes = after.sent_bytes - before.sent_bytes;
  result.server_cpu_seconds = after.cpu_seconds - before.cpu_seconds;
  return result;
}

}  // namespace holdfast::tools
