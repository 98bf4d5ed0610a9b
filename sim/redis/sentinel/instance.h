// SentinelInstance: what a Sentinel knows of one server, or of one other Sentinel. Times are milliseconds of
// its wall clock, 0: never.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/net/network.h"
#include "sim/redis/sentinel/link.h"

namespace holdfast::sim::embedded {

enum class SentinelRole : std::uint8_t { primary, replica, sentinel };

struct SentinelInstance {
  SentinelRole role = SentinelRole::primary;
  Endpoint at;
  std::string run_id;
  std::shared_ptr<SentinelLink> commands, listens;  // listens: to the channel of greetings, servers only

  // How it answers.
  std::int64_t available_ms = 0;   // its last acceptable answer to PING
  std::int64_t unanswered_ms = 0;  // since when a PING waits for an acceptable answer
  std::int64_t pinged_ms = 0, ponged_ms = 0;
  std::int64_t greeted_ms = 0;  // it was sent a greeting
  std::int64_t heard_ms = 0;    // something came on `listens`; of a Sentinel: its greeting
  std::int64_t reconnected_ms = 0;
  bool down = false;  // by this Sentinel's own opinion (+sdown)
  std::int64_t down_ms = 0, agreed_down_ms = 0;

  // What a server says of itself (INFO).
  std::int64_t told_ms = 0;
  bool says_replica = false;
  std::int64_t says_so_since_ms = 0;
  Endpoint follows;
  bool link_up = false;
  std::int64_t link_down_for_ms = 0;
  std::int64_t priority = 100, offset = 0;
  std::int64_t follows_since_ms = 0;

  // In a failover.
  bool promoted = false;
  enum class Turn : std::uint8_t { none, sent, under_way, done } turn = Turn::none;  // to the new primary
  std::int64_t turned_ms = 0;

  // Another Sentinel's opinion.
  bool says_down = false;
  std::int64_t opinion_ms = 0;
  std::string voted_for;
  std::int64_t voted_epoch = 0;

  bool unlinked() const { return commands == nullptr || commands->broken(); }
  // Neither it nor, of a primary, more of them have seen it down for so long.
  bool fine_for(std::int64_t span_ms, std::int64_t now_ms) const {
    const std::int64_t last = down_ms > agreed_down_ms ? down_ms : agreed_down_ms;
    return last == 0 || now_ms - last > span_ms;
  }
};

}  // namespace holdfast::sim::embedded
