// Traffic: what goes through the proxies, counted for `GET /traffic`. Everything only grows, so that each who
// looks takes the difference of two looks (traffic_view.h).
//
// What a request or an answer says is not kept: commands are counted, not shown. Keys are counted only while
// somebody asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/proxy/proxy.h"
#include "tools/proxy/latency.h"

namespace holdfast::tools {

// The keys that are asked for most (Misra and Gries): of `kMost` counters none is too large, nor too small by
// more than a `kMost`th of all that was counted.
class HotKeys {
 public:
  static constexpr std::size_t kMost = 2048;
  void count(std::string_view key);
  // By how often, the most first.
  std::vector<std::pair<std::string, std::uint64_t>> top(std::size_t most) const;
  void clear() { counts_.clear(); }

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

class Traffic {
 public:
  // A piece that was read, from the client or from the server.
  void moved(const sim::Link& link, const std::string& client, sim::Direction direction, std::size_t bytes);
  // A request of a client link that will be answered, or a reply to it; and what became of that.
  void asked(const sim::Message& request, const std::string& client, std::int64_t now_ns);
  void settled(std::uint64_t exchange, sim::Fate fate, std::int64_t now_ns);

  // Keys are counted until so long after.
  void want_keys(std::int64_t until_ns) { keys_until_ns_ = until_ns; }
  // Connections that are over ask no more.
  void keep_only(const std::set<std::uint64_t>& connections);
  void forget_proxy(const std::string& proxy);

  // `connections`: how many each client has now.
  nlohmann::json clients_of(const std::string& proxy,
                            const std::map<std::string, std::size_t>& connections) const;
  nlohmann::json keys() const;

 private:
  struct Counts {
    std::uint64_t commands = 0, destroyed = 0, in_flight = 0;
    std::uint64_t bytes[2] = {0, 0};  // by direction
    Latency latency;                  // of answers that arrived, from their requests on
  };
  struct Open {
    std::int64_t since_ns = 0;
    std::uint64_t connection = 0;
    std::shared_ptr<Counts> counts;
  };
  static constexpr std::size_t kMostClients = 1000;  // of a proxy; the rest are "others"

  std::shared_ptr<Counts>& counts_of(const std::string& proxy, const std::string& client);

  std::map<std::string, std::map<std::string, std::shared_ptr<Counts>>> all_;  // by proxy and client
  std::map<std::uint64_t, Open> open_;                                         // by exchange
  std::int64_t keys_until_ns_ = 0;
  HotKeys keys_;
};

}  // namespace holdfast::tools
