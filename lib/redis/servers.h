// The servers that one client knows: those of its options, and those that Sentinels named since; what was
// counted of the traffic with them; and whether the client still wants any.
//
// Thread safety: all members, from any task. What was added stays, so that a name lives as long as this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

class Servers {
 public:
  // A client that was told of more addresses than that has been lied to.
  static constexpr std::size_t kMost = 4096;

  // As ClientStatistics.
  struct Counts {
    std::atomic<std::uint64_t> commands = 0, unanswered = 0;
    std::atomic<std::uint64_t> connections = 0, reconnections = 0, failed_connections = 0;
  };

  Servers(Runtime& runtime, const ClientOptions& options);

  Counts& counts() const noexcept { return counts_; }

  // The client is being destroyed: who seeks one of them makes no further attempt to connect.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& ended() const noexcept { return ended_; }

  Node at(std::size_t index) const;
  const std::string& name(std::size_t index) const;  // how errors call it
  std::size_t size() const;
  // The server that somebody told, a new one if it is not known yet: ClientOptions::remap_address says where
  // it is reached. Nothing: there are too many.
  std::optional<std::size_t> at_address(const Endpoint& told);

 private:
  struct Known {
    Node node;
    std::string name;
  };
  const std::function<Endpoint(const Endpoint&)> remap_;
  const std::vector<Known> given_;  // read without the mutex: each call asks for a name
  mutable Mutex mutex_;
  std::deque<Known> learned_;  // numbered on from those
  mutable Counts counts_;
  std::atomic<bool> ended_ = false;
};

}  // namespace holdfast::redis
