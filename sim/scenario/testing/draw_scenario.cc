#include "sim/scenario/testing/draw_scenario.h"

#include <fmt/format.h>

#include <vector>

namespace holdfast::sim::testing {
namespace {

class Drawer {
 public:
  Drawer(const LockKind& kind, Rng& rng, const DrawOptions& options)
      : kind_(kind), rng_(rng), options_(options) {}

  std::string draw() {
    replicated_ = !kind_.quorum && options_.servers_forget && rng_.chance(1, 2);
    clients_ = rng_.between(2, 4);
    lease_ms_ = rng_.between(300, 1500);
    text_ =
        "schema = 1\nname   = \"drawn\"\nabout  = \"Drawn at random\"\n\n[run]\nseeds = \"1\"\ntime  = "
        "\"30s\"\n";
    cluster();
    lock();
    workload();
    text_ += "\n[network]\nlatency = " + quoted(pick({"100us..1ms", "200us..5ms", "1ms..20ms"})) + "\n";
    const std::uint64_t faults = rng_.between(2, 7);
    for (std::uint64_t i = 0; i < faults; ++i) fault();
    return text_;
  }

 private:
  using Texts = std::vector<std::string>;
  std::string pick(const Texts& from) { return from[rng_.between(0, from.size() - 1)]; }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }
  std::string range(std::uint64_t low_ms, std::uint64_t high_ms) {
    const std::uint64_t from = rng_.between(low_ms, high_ms);
    const std::uint64_t to = rng_.between(from, high_ms);
    return fmt::format("\"{}ms..{}ms\"", from, to);
  }
  void line(const std::string& key, const std::string& value) { text_ += key + " = " + value + "\n"; }

  void cluster() {
    nodes_ = kind_.quorum ? Texts{"r1", "r2", "r3"} : replicated_ ? Texts{"r1", "r2"} : Texts{"r1"};
    text_ += "\n[cluster]\n";
    line("topology", quoted(kind_.quorum ? "independent" : replicated_ ? "primary-replica" : "single"));
    std::string names;
    for (const std::string& node : nodes_) names += (names.empty() ? "" : ", ") + quoted(node);
    line("nodes", "[" + names + "]");
    line("persistence",
         quoted(options_.servers_forget ? pick({"none", "aof-always", "aof-everysec", "aof-no", "rdb"})
                                        : std::string("aof-always")));
  }

  void lock() {
    text_ += "\n[lock]\n";
    line("kind", quoted(std::string(kind_.name)));
    // Spring's registry and the annotations write whole seconds.
    line("lease",
         quoted(kind_.historic ? fmt::format("{}s", 1 + lease_ms_ / 700) : fmt::format("{}ms", lease_ms_)));
    line("on_lost", quoted(pick({"ignore", "abort"})));
    if (kind_.counts_permits) line("permits", std::to_string(rng_.between(1, 3)));
    if (kind_.shared && !kind_.historic && rng_.chance(1, 2)) line("fair", "true");
    if (kind_.tokens && rng_.chance(1, 3)) line("fencing", "true");
    if (!kind_.historic && !kind_.counts_permits && rng_.chance(1, 6)) line("renew", "false");
    if (replicated_ && kind_.promises_validity && rng_.chance(1, 3)) line("replicas", "1");
  }

  void workload() {
    text_ += "\n[workload]\nkind = \"critical-section\"\n";
    line("clients", std::to_string(clients_));
    line("threads", std::to_string(rng_.between(1, 2)));
    line("rounds", std::to_string(rng_.between(3, 8)));
    line("hold", range(1, rng_.chance(1, 3) ? 2 * lease_ms_ : lease_ms_ / 2));
    line("think", range(0, 60));
    if (rng_.chance(1, 3)) line("wait", fmt::format("\"{}ms\"", rng_.between(50, 2 * lease_ms_)));
    if (rng_.chance(1, 3)) line("command_timeout", fmt::format("\"{}ms\"", rng_.between(60, 800)));
    if (kind_.shared) line("readers", fmt::format("\"{}%\"", rng_.between(0, 90)));
    if (kind_.reentrant && rng_.chance(1, 5)) line("depth", "2");
    if (!kind_.historic && rng_.chance(1, 5)) line("interrupts", "\"30%\"");
  }

  std::string client() { return rng_.chance(2, 3) ? "c1" : "c" + std::to_string(rng_.between(1, clients_)); }
  std::string node() { return rng_.chance(2, 3) ? nodes_.front() : pick(nodes_); }

  std::string kind_of_fault() {
    Texts kinds = {"pause-client",
                   "pause-client",
                   "pause-server",
                   "pause-server",
                   "crash",
                   "crash",
                   "power-loss",
                   "partition",
                   "partition",
                   "stall",
                   "cut",
                   "refuse",
                   "delay",
                   "drop-message",
                   "reset-before-request",
                   "reset-after-request",
                   "reset-mid-reply"};
    if (options_.watchdog_pauses) kinds.emplace_back("pause-watchdog");
    if (options_.servers_forget) {
      kinds.insert(kinds.end(), {"clock-step", "clock-drift"});
      if (replicated_) kinds.insert(kinds.end(), {"promote", "promote", "demote", "replication-lag"});
    }
    return pick(kinds);
  }

  void trigger(bool repeats) {
    const std::uint64_t how = rng_.between(0, faults_ > 0 ? 5 : 3);
    if (how <= 1 && repeats) {
      line("every", range(50, 2000));
    } else if (how == 2) {
      static const Texts events = {"lock.requested", "lock.granted",   "lock.releasing", "lock.renewed",
                                   "lock.waiting",   "client.started", "lock.refused"};
      std::string after = "event = " + quoted(pick(events)) + ", nth = " + std::to_string(rng_.between(1, 6));
      if (rng_.chance(1, 2)) after += ", client = " + quoted(client());
      if (rng_.chance(1, 2)) after += ", delay = " + range(0, 300);
      line("after", "{ " + after + " }");
      if (!lasting_.empty() && rng_.chance(1, 2)) line("during", quoted(pick(lasting_)));
    } else if (how >= 4) {
      const std::string first = "f" + std::to_string(rng_.between(0, faults_ - 1));
      line("after", "{ fault = " + quoted(first) + ", delay = " + range(0, 1200) + " }");
    } else {
      line("at", range(0, 4000));
    }
  }

  void fault() {
    const std::string id = "f" + std::to_string(faults_), kind = kind_of_fault();
    text_ += "\n[[fault]]\nid = " + quoted(id) + "\nkind = " + quoted(kind) + "\n";
    bool lasts = true;
    if (kind == "pause-client" || kind == "pause-watchdog") {
      line("client", quoted(client()));
    } else if (kind == "pause-server" || kind == "refuse" || kind == "power-loss") {
      line("node", quoted(node()));
    } else if (kind == "crash") {
      rng_.chance(1, 2) ? line("client", quoted(client())) : line("node", quoted(node()));
    } else if (kind == "partition" || kind == "stall" || kind == "cut" || kind == "delay") {
      line("between", quoted(rng_.chance(1, 4) ? "*" : client()));
      line("and", quoted(node()));
      if (kind == "delay") line("delay", range(1, 700));
      if (kind == "partition" && rng_.chance(1, 3)) line("heal_by", quoted("reset"));
      if (kind != "cut" && rng_.chance(1, 3)) line("direction", quoted(pick({"forward", "backward"})));
    } else if (kind == "promote") {
      line("node", quoted("r2"));
      lasts = false;
    } else if (kind == "demote") {
      const bool first = rng_.chance(1, 2);
      line("node", quoted(nodes_[first ? 0 : 1]));
      line("primary", quoted(nodes_[first ? 1 : 0]));
      lasts = false;
    } else if (kind == "replication-lag") {
      line("node", quoted("r2"));
    } else if (kind == "clock-step") {
      line("node", quoted(node()));
      line("by", quoted(pick({"-900ms", "-50ms", "80ms", "1s", "5s"})));
    } else if (kind == "clock-drift") {
      rng_.chance(1, 2) ? line("client", quoted(client())) : line("node", quoted(node()));
      line("ppm", pick({"-100000", "-20000", "100", "20000", "100000"}));
    } else {
      if (rng_.chance(1, 2)) line("client", quoted(client()));
      rng_.chance(1, 2) ? line("probability", fmt::format("\"{}%\"", rng_.between(2, 40)))
                        : line("nth", std::to_string(rng_.between(1, 4)));
    }
    if (lasts) line("for", range(10, rng_.chance(1, 3) ? 3 * lease_ms_ : lease_ms_));
    trigger(lasts && kind != "clock-drift");  // drifts add up
    if (lasts) lasting_.push_back(id);
    ++faults_;
  }

  const LockKind& kind_;
  Rng& rng_;
  const DrawOptions options_;
  std::string text_;
  Texts nodes_, lasting_;
  bool replicated_ = false;
  std::uint64_t clients_ = 0, lease_ms_ = 0, faults_ = 0;
};

}  // namespace

std::string draw_scenario(const LockKind& kind, Rng& rng, const DrawOptions& options) {
  return Drawer(kind, rng, options).draw();
}

std::string expecting(const std::vector<std::string>& checks) {
  std::string text;
  for (const std::string& check : checks) text += "\n[[expect]]\ncheck = \"" + check + "\"\n";
  return text;
}

}  // namespace holdfast::sim::testing
