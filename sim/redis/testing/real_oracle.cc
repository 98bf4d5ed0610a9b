#include "sim/redis/testing/real_oracle.h"

#include <algorithm>
#include <stdexcept>

namespace holdfast::sim::oracle {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);  // the server's own period at hz 10

// What a case may have changed, and what it was.
constexpr std::pair<const char*, const char*> kSettings[] = {{"min-replicas-to-write", "0"},
                                                             {"min-replicas-max-lag", "10"},
                                                             {"notify-keyspace-events", ""},
                                                             {"replica-serve-stale-data", "yes"},
                                                             {"replica-read-only", "yes"},
                                                             {"maxmemory", "0"},
                                                             {"maxmemory-policy", "noeviction"},
                                                             {"appendonly", "no"},
                                                             {"save", ""},
                                                             {"timeout", "0"},
                                                             {"repl-timeout", "60"},
                                                             {"lua-time-limit", "5000"},
                                                             {"busy-reply-threshold", "5000"},
                                                             {"hz", "10"},
                                                             {"repl-ping-replica-period", "10"}};

}  // namespace

RealOracle::RealOracle() {
  first_ = std::make_unique<ClockedRedis>(runtime_, network_,
                                          RedisProcessOptions{.folder = folder_.path() + "/first"});
  first_->clock().freeze(WallTime(std::chrono::seconds(1'700'000'000)));
  first_->start();
}

redis::Reply RealOracle::control(std::initializer_list<std::string> command) {
  const MonotonicTime deadline = deadline_after(runtime_.now(), std::chrono::seconds(20));
  if (!control_) control_ = std::make_unique<ServerConnection>(network_, server(), deadline);
  return control_->call(command, deadline);
}

void RealOracle::reset(WallTime start) {
  first_->clock().freeze(start);
  if (!first_->running()) {  // the case before crashed it (there are scripts that crash 7.0.15)
    control_.reset();
    first_->start();
  }
  for (const char* type : {"normal", "pubsub", "replica"})
    control({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
  control({"REPLICAOF", "NO", "ONE"});
  for (const auto& [name, value] : kSettings) {
    const redis::Reply reply = control({"CONFIG", "SET", name, value});
    if (reply.text != "OK") throw std::runtime_error(std::string(name) + ": " + reply.text);
  }
  control({"FLUSHALL"});
  control({"SCRIPT", "FLUSH"});
  control({"DEBUG", "SET-ACTIVE-EXPIRE", "1"});
  control({"CONFIG", "RESETSTAT"});
  settle();
}

void RealOracle::start_second(WallTime start) {
  second_ = std::make_unique<ClockedRedis>(
      runtime_, network_,
      RedisProcessOptions{.folder = folder_.path() + "/second" + std::to_string(++seconds_)});
  second_->clock().freeze(start);
  second_->start({"--replicaof", server().host + " " + std::to_string(server().port)});
  const MonotonicTime deadline = deadline_after(runtime_.now(), std::chrono::seconds(30));
  second_control_ = std::make_unique<ServerConnection>(network_, second_server(), deadline);
  const auto has = [](const redis::Reply& info, const char* text) {
    return info.text.find(text) != std::string::npos;
  };
  while (!has(second_control_->call({"INFO", "replication"}, deadline), "master_link_status:up") ||
         !has(control({"INFO", "replication"}), "state=online")) {
    nudge();
    if (runtime_.now() > deadline) throw std::runtime_error("the second server does not come in sync");
  }
}

Transcript RealOracle::play_from(WallTime start, const std::vector<std::string>& steps, bool with_replica,
                                 int protocol) {
  reset(start);
  if (with_replica) start_second(start);
  Transcript transcript = play(steps, *this, protocol);
  second_control_.reset();
  second_.reset();
  return transcript;
}

void RealOracle::advance(Duration by) {
  // In the server's own periods, so that what it does periodically it does as often; of very long waits not
  // all of them.
  const Duration stride = std::max(kTick, by / 100);
  while (by > Duration{}) {
    const Duration part = std::min(by, stride);
    first_->clock().advance(part);
    if (second_) second_->clock().advance(part);
    settle();
    by -= part;
  }
}

void RealOracle::nudge() {
  first_->clock().tick(kTick);
  if (second_) second_->clock().tick(kTick);
  settle();
  runtime_.sleep_for(std::chrono::milliseconds(1));
}

void RealOracle::settle() {
  control({"PING"});
  if (second_control_) {
    second_control_->call({"PING"}, deadline_after(runtime_.now(), std::chrono::seconds(20)));
  }
}

}  // namespace holdfast::sim::oracle
