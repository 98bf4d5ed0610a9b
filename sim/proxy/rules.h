// The stock rules: what most faults and the scenario's default latency are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/proxy/proxy.h"
#include "sim/world/duration_range.h"
#include "sim/world/rng.h"

namespace holdfast::sim {

// Which directions of a link a rule acts on.
struct Lanes {
  bool request = false, reply = false;
  bool any() const { return request || reply; }
  bool has(Direction direction) const { return direction == Direction::request ? request : reply; }
};
using LaneFilter = std::function<Lanes(const Link&)>;

LaneFilter all_links();

// How often something happens: `part` times out of `of`, drawn.
struct Chance {
  std::uint64_t part = 1, of = 1;
  bool always() const { return part >= of; }
};

// Every message (chunk of bytes, while nobody takes messages apart) is kept back for a time drawn uniformly
// from `range`, whole nanoseconds; order is kept: one that is not struck waits for those before it. Works on
// bytes. Delays of several rules add up.
std::shared_ptr<Rule> make_delay_rule(LaneFilter which, DurationRange range, Rng rng, Chance chance = {});
// The same on all links: a scenario's [network] latency.
std::shared_ptr<Rule> make_latency_rule(DurationRange range, Rng rng);

// Nothing passes, not even the end of a connection, until the rule is removed; then all of it does. Works on
// bytes.
std::shared_ptr<Rule> make_hold_rule(LaneFilter which);

// What passes is slowed to so many bytes a second, each way of each connection by itself, in slices of a
// tenth of a second. Works on bytes. 0: not at all. `clock` outlives the rule.
std::shared_ptr<Rule> make_bandwidth_rule(LaneFilter which, std::int64_t bytes_per_second, Runtime& clock);

// The end of a connection, and nothing else, arrives late. Works on bytes.
std::shared_ptr<Rule> make_slow_close_rule(LaneFilter which, DurationRange range, Rng rng);

// A cut cable: as a hold rule, and new connections are not made. To be ended by Proxy::heal_rule().
std::shared_ptr<Rule> make_partition_rule(LaneFilter which);

// New connections are accepted and reset at once. `on_hit`: at each of them.
std::shared_ptr<Rule> make_refuse_rule(std::function<bool(const Link&)> which,
                                       std::function<void()> on_hit = {});

struct NthMessage {
  LaneFilter which = all_links();
  std::function<bool(const Message&)> matches;
  std::int64_t nth = 1;    // the first that is acted on, counted from 1 over all links
  std::int64_t count = 1;  // how many are acted on, from there on; 0: all
  // Each message from the nth on is acted on that often, drawn from a stream of its link's own, which is
  // derived from `draws`: traffic on one link moves no draw of another.
  Chance chance = {};
  Rng draws{0};
  Action action;
  std::function<Action(const Message&)> act = {};  // says it for each, in place of `action`
  std::function<void()> on_hit = {};               // at each that is acted on
  std::function<void()> on_done = {};              // after the last of them; may remove the rule
};
std::shared_ptr<Rule> make_nth_message_rule(NthMessage options);

}  // namespace holdfast::sim
