#include "checker/story/timeline_lanes.h"

#include <algorithm>
#include <map>
#include <set>

#include "checker/history/effects.h"
#include "checker/story/text_layout.h"

namespace holdfast::checker {

namespace {

constexpr std::string_view kHarness = "nemesis", kWatchdog = "/watchdog";

bool happens_to_a_lane(const History& history, const Event& event) {
  return !of_harness(event.f) && event.f != Function::crash && history.text(event.process) != kHarness;
}

}  // namespace

// A thread's incarnations ("c1/0", "c1/0#2") share a lane. A watchdog goes into the lane of its client's only
// thread: a thousand clients have a thousand lanes.
TimelineLanes::TimelineLanes(const History& history)
    : history_(history), of_process_(history.symbols(), kNowhere), of_node_(history.symbols(), kNowhere) {
  std::map<std::string, std::size_t, std::less<>> known;
  std::map<std::string_view, std::set<std::size_t>> of_client;
  std::vector<Symbol> watchdogs, nodes;
  std::vector<bool> seen_process(history.symbols()), seen_node(history.symbols());
  const auto lane_named = [&](std::string_view name) {
    const auto [at, fresh] = known.try_emplace(std::string(name), lanes_.size());
    if (fresh) lanes_.push_back({printable(name)});
    return at->second;
  };
  for (const Event& event : history.events()) {
    if (!happens_to_a_lane(history, event)) continue;
    const bool store = is_store_event(event);
    const Symbol symbol = store ? event.node : event.process;
    std::vector<bool>& seen = store ? seen_node : seen_process;
    if (seen[symbol]) continue;
    seen[symbol] = true;
    const std::string_view name = history.text(symbol);
    if (store) {
      nodes.push_back(symbol);
    } else if (name.ends_with(kWatchdog)) {
      watchdogs.push_back(symbol);
    } else {
      of_process_[symbol] = lane_named(name.substr(0, name.find('#')));
      of_client[client_of(name)].insert(of_process_[symbol]);
    }
  }
  for (const Symbol watchdog : watchdogs) {
    const std::string_view name = history.text(watchdog);
    const auto threads = of_client.find(client_of(name));
    of_process_[watchdog] = threads != of_client.end() && threads->second.size() == 1
                                ? *threads->second.begin()
                                : lane_named(name);
  }
  // Nodes that only faults met have a lane as well.
  for (const Event& event : history.events()) {
    if (event.f != Function::effect || event.node == 0 || seen_node[event.node]) continue;
    if (of_client.contains(client_of(history.text(event.node)))) continue;
    seen_node[event.node] = true;
    nodes.push_back(event.node);
  }
  for (const Symbol node : nodes) {
    of_node_[node] = lanes_.size();
    lanes_.push_back({printable(history.text(node)), true});
  }
}

std::size_t TimelineLanes::of(const Event& event) const {
  if (is_store_event(event)) return of_node_[event.node];
  return happens_to_a_lane(history_, event) ? of_process_[event.process] : kNowhere;
}

std::vector<Outage> outages_of(const History& history, const TimelineLanes& lanes) {
  std::map<std::string_view, std::set<std::size_t>> of_client;  // client -> lanes
  for (const Event& event : history.events()) {
    const std::size_t lane = lanes.of(event);
    if (lane != kNowhere && !is_store_event(event)) {
      of_client[client_of(history.text(event.process))].insert(lane);
    }
  }
  const auto lanes_of = [&](Symbol party) -> std::set<std::size_t> {
    const std::size_t node = lanes.of_node(party);
    if (node != kNowhere) return {node};
    const auto client = of_client.find(client_of(history.text(party)));
    return client == of_client.end() ? std::set<std::size_t>() : client->second;
  };
  std::vector<Outage> outages;
  const auto open = [&](std::size_t lane, std::int64_t at_ns, std::string_view what, bool loses) {
    outages.push_back({.lane = lane, .from_ns = at_ns, .what = std::string(what), .loses = loses});
    return outages.size() - 1;
  };
  std::map<std::size_t, std::size_t> dead;                               // lane -> its open outage
  std::map<std::pair<Symbol, Symbol>, std::vector<std::size_t>> paused;  // act, party -> open outages
  for (const Event& event : history.events()) {
    Effect effect{};
    if (event.f == Function::crash) {
      for (const std::size_t lane : lanes_of(event.process)) {
        if (!dead.contains(lane)) dead[lane] = open(lane, event.time_ns, "dead", false);
      }
    } else if (effect_of(history, event, effect)) {
      const std::size_t node = lanes.of_node(event.node);
      if (effect == Effect::crashed && node != kNowhere && !dead.contains(node)) {
        dead[node] = open(node, event.time_ns, "down", true);
      } else if (effect == Effect::restarted && dead.contains(node)) {
        outages[dead[node]].to_ns = event.time_ns;
        dead.erase(node);
      } else if (effect == Effect::paused) {
        const bool role = history.text(event.node).find('/') != std::string_view::npos;
        for (const std::size_t lane : lanes_of(event.node)) {
          paused[{event.id, event.node}].push_back(open(
              lane, event.time_ns, role ? printable(history.text(event.node)) + " paused" : "paused", false));
        }
      } else if (effect == Effect::resumed) {
        for (const std::size_t outage : paused[{event.id, event.node}]) outages[outage].to_ns = event.time_ns;
        paused.erase({event.id, event.node});
      }
    } else if (!is_store_event(event)) {
      const auto back = dead.find(lanes.of(event));
      if (back == dead.end()) continue;
      outages[back->second].to_ns = event.time_ns;  // a new incarnation
      dead.erase(back);
    }
  }
  return outages;
}

std::vector<ServerRecord> server_records(const History& history, const std::vector<Hold>& holds,
                                         const TimelineLanes& lanes, const std::vector<Outage>& outages) {
  const auto& events = history.events();
  std::map<Symbol, std::int64_t> valid_until;  // by acquisition
  for (const Hold& hold : holds) {
    if (hold.id != 0 && hold.has_claim()) valid_until[hold.id] = hold.valid_until_ns;
  }
  std::vector<ServerRecord> records;
  std::map<std::pair<Symbol, Symbol>, std::size_t> open;  // node and key -> record
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const bool grant = event.f == Function::store_grant, remove = event.f == Function::store_remove;
    if (event.type != EventType::ok || event.value == 0 || !(grant || remove)) continue;
    const auto found = open.find({event.node, event.key});
    if (found != open.end()) {
      std::int64_t& to_ns = records[found->second].to_ns;
      to_ns = std::min(to_ns, event.time_ns);
      open.erase(found);
    }
    if (!grant) continue;
    open[{event.node, event.key}] = records.size();
    const auto lease = valid_until.find(event.id);
    records.push_back({i, lease == valid_until.end() ? kForever : lease->second});
  }
  for (ServerRecord& record : records) {
    const Event& granted = events[record.granted];
    for (const Outage& outage : outages) {
      if (outage.loses && outage.lane == lanes.of(granted) && outage.from_ns >= granted.time_ns) {
        record.to_ns = std::min(record.to_ns, outage.from_ns);
      }
    }
  }
  return records;
}

}  // namespace holdfast::checker
