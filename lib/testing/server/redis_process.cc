#include "lib/testing/server/redis_process.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "lib/runtime/check.h"
#include "lib/testing/server/server_connection.h"

namespace holdfast {
namespace {

// Below the range from which Linux takes the ports of outgoing connections (32768 on), so that a server that
// is down for a moment finds its port free again.
constexpr std::uint16_t kFirstPort = 15000, kPorts = 16000;

std::string prepare(const std::string& folder) {
  std::filesystem::create_directories(folder + "/data");
  return folder;
}

}  // namespace

std::uint16_t choose_port(Network& network, const std::string& address) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    static std::uint32_t counter = static_cast<std::uint32_t>(::getpid()) * 7919u;
    const auto port =
        static_cast<std::uint16_t>(kFirstPort + __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED) % kPorts);
    try {
      network.listen({address, port})->close();
      return port;
    } catch (const std::system_error&) {  // taken
    }
  }
  throw std::runtime_error("no free port on " + address);
}

MissingServer::MissingServer()
    : Missing(
          "redis-server is not installed on this machine; install it with: apt-get install redis-server") {}

RedisProcess::RedisProcess(Runtime& runtime, Network& network, RedisProcessOptions options)
    : runtime_(runtime),
      network_(network),
      options_(std::move(options)),
      program_(find_program("redis-server")),
      data_folder_(prepare(options_.folder) + "/data"),
      log_file_(options_.folder + "/server.log"),
      port_chosen_here_(options_.port == 0) {
  if (program_.empty()) throw MissingServer();
  if (port_chosen_here_) options_.port = choose_port(network_, options_.address);
}

RedisProcess::~RedisProcess() = default;

void RedisProcess::start(const std::vector<std::string>& extra, Until until) {
  HF_CHECK(!running(), "start: it runs");
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (try_start(extra, until)) {
      port_chosen_here_ = false;  // known to others from now on
      return;
    }
    if (!port_chosen_here_) break;
    options_.port = choose_port(network_, options_.address);
  }
  throw std::runtime_error("redis-server does not start at " + endpoint().to_string() + ":\n" + log_tail());
}

bool RedisProcess::try_start(const std::vector<std::string>& extra, Until until) {
  ChildOptions child{.program = program_,
                     .arguments = {"--port",
                                   std::to_string(options_.port),
                                   "--bind",
                                   options_.address,
                                   "--bind-source-addr",
                                   options_.address,
                                   "--dir",
                                   data_folder_,
                                   "--daemonize",
                                   "no",
                                   "--protected-mode",
                                   "no",
                                   "--save",
                                   "",
                                   "--repl-diskless-sync",
                                   "yes",
                                   "--repl-diskless-sync-delay",
                                   "0",
                                   "--repl-diskless-load",
                                   "swapdb",
                                   "--rdb-del-sync-files",
                                   "yes",
                                   "--enable-debug-command",
                                   "yes"},
                     .folder = data_folder_,
                     .output = log_file_,
                     .environment = options_.environment};
  if (!options_.configuration.empty())
    child.arguments.insert(child.arguments.begin(), options_.configuration);
  child.arguments.insert(child.arguments.end(), options_.settings.begin(), options_.settings.end());
  child.arguments.insert(child.arguments.end(), extra.begin(), extra.end());
  child_ = std::make_unique<ChildProcess>(child);
  const auto pid = child_->pid();
  const auto killed = [this, pid] { return child_ == nullptr || child_->pid() != pid; };  // while this parked

  const MonotonicTime deadline = deadline_after(runtime_.now(), options_.start_limit);
  while (runtime_.now() < deadline) {
    if (killed()) return true;
    if (!child_->running()) {
      child_.reset();
      return false;
    }
    try {
      ServerConnection connection(network_, endpoint(), deadline);
      const std::string answer = connection.call({"PING"}, deadline).text;
      if (answer == "PONG" || (until == Until::loading && answer.starts_with("LOADING "))) {
        // Somebody else's server on this port would answer too.
        const redis::Reply info = connection.call({"INFO", "server"}, deadline);
        return info.text.find("process_id:" + std::to_string(pid) + "\r") != std::string::npos;
      }
    } catch (const std::runtime_error&) {  // not yet
    }
    runtime_.sleep_for(std::chrono::milliseconds(2));
  }
  throw std::runtime_error("redis-server at " + endpoint().to_string() + " does not answer:\n" + log_tail());
}

void RedisProcess::kill() { child_.reset(); }

void RedisProcess::pause() {
  if (child_) child_->pause();
}

void RedisProcess::resume() {
  if (child_) child_->resume();
}

void RedisProcess::erase_disk() {
  HF_CHECK(!running(), "erase_disk: the server runs");
  std::filesystem::remove_all(data_folder_);
  std::filesystem::create_directories(data_folder_);
}

redis::Reply RedisProcess::call(std::span<const std::string> command) {
  const MonotonicTime deadline = deadline_after(runtime_.now(), options_.call_limit);
  ServerConnection connection(network_, endpoint(), deadline);
  return connection.call(command, deadline);
}

std::string RedisProcess::log_tail() const {
  std::ifstream file(log_file_);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.size() > 2000 ? "..." + all.substr(all.size() - 2000) : all;
}

}  // namespace holdfast
