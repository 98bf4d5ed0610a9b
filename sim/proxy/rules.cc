#include "sim/proxy/rules.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace holdfast::sim {
namespace {

// A stream for each direction of each link: traffic on one moves no draw of another.
class LinkStreams {
 public:
  explicit LinkStreams(Rng root) : root_(root) {}
  Duration draw(const DurationRange& range, const Link& link, Direction direction) {
    return range.fixed() ? range.low : range.draw(of(link, direction));
  }
  Rng& of(const Link& link, Direction direction) {
    const std::size_t at = 2 * link.connection + (direction == Direction::request ? 0 : 1);
    if (at >= by_connection_.size()) by_connection_.resize(at + 1);
    Rng*& known = by_connection_[at];
    if (known == nullptr) {
      const std::string name =
          link.from + "/" + link.to + (direction == Direction::request ? "/request" : "/reply");
      known = &by_name_.try_emplace(name, root_.child(name)).first->second;
    }
    return *known;
  }

 private:
  const Rng root_;
  std::map<std::string, Rng> by_name_;
  std::vector<Rng*> by_connection_;  // connections are numbered
};

class DelayRule final : public Rule {
 public:
  DelayRule(LaneFilter which, DurationRange range, Rng rng, Chance chance)
      : which_(std::move(which)),
        range_(range),
        delays_(rng),
        struck_(rng.child("struck")),
        chance_(chance) {}
  bool applies(const Link& link) const override { return which_(link).any(); }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view) override {
    if (!which_(link).has(direction)) return {};
    if (!chance_.always() && !struck_.of(link, direction).chance(chance_.part, chance_.of)) return {};
    return {.kind = Action::Kind::pass, .delay = delays_.draw(range_, link, direction)};
  }

 private:
  LaneFilter which_;
  DurationRange range_;
  LinkStreams delays_, struck_;
  const Chance chance_;
};

class LatencyRule final : public Rule {
 public:
  LatencyRule(DurationRange range, Rng rng) : range_(range), delays_(rng) {}
  bool applies(const Link&) const override { return true; }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view) override {
    return {.kind = Action::Kind::pass, .delay = delays_.draw(range_, link, direction)};
  }

 private:
  DurationRange range_;
  LinkStreams delays_;
};

class HoldRule final : public Rule {
 public:
  HoldRule(LaneFilter which, bool loses) : which_(std::move(which)), loses_(loses) {}
  // One way is enough: the answer to the first packet does not come back.
  bool loses(const Link& link) const override { return loses_ && which_(link).any(); }
  bool applies(const Link& link) const override { return which_(link).any(); }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view) override {
    if (!which_(link).has(direction)) return {};
    return {.kind = Action::Kind::hold};
  }

 private:
  LaneFilter which_;
  const bool loses_;
};

class BandwidthRule final : public Rule {
 public:
  BandwidthRule(LaneFilter which, std::int64_t bytes_per_second, Runtime& clock)
      : which_(std::move(which)), rate_(static_cast<std::size_t>(bytes_per_second)), clock_(clock) {}
  bool applies(const Link& link) const override { return which_(link).any(); }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view bytes) override {
    if (rate_ == 0 || bytes.empty() || !which_(link).has(direction)) return {};
    MonotonicTime& free = free_[{link.connection, direction}];
    free = std::max(free, clock_.now());
    auto slices = std::make_shared<std::vector<Slice>>();
    const std::size_t most = std::max<std::size_t>(1, rate_ / 10);
    for (std::size_t left = bytes.size(); left > 0;) {
      const std::size_t size = std::min(left, most);
      left -= size;
      free += Duration(static_cast<std::int64_t>(size * 1'000'000'000 / rate_));
      slices->push_back({.bytes = size, .after = free - clock_.now()});
    }
    return {.slices = std::move(slices)};
  }

 private:
  LaneFilter which_;
  const std::size_t rate_;  // bytes a second
  Runtime& clock_;
  // When it has passed on what it got.
  std::map<std::pair<std::uint64_t, Direction>, MonotonicTime> free_;
};

class SlowCloseRule final : public Rule {
 public:
  SlowCloseRule(LaneFilter which, DurationRange range, Rng rng)
      : which_(std::move(which)), range_(range), delays_(rng) {}
  bool applies(const Link& link) const override { return which_(link).any(); }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view bytes) override {
    if (!bytes.empty() || !which_(link).has(direction)) return {};
    return {.delay = delays_.draw(range_, link, direction)};
  }

 private:
  LaneFilter which_;
  DurationRange range_;
  LinkStreams delays_;
};

class RefuseRule final : public Rule {
 public:
  RefuseRule(std::function<bool(const Link&)> which, std::function<void()> on_hit)
      : which_(std::move(which)), on_hit_(std::move(on_hit)) {}
  bool applies(const Link& link) const override { return which_(link); }
  bool needs_messages() const override { return false; }
  bool refuses(const Link&) override {
    if (on_hit_) on_hit_();
    return true;
  }

 private:
  std::function<bool(const Link&)> which_;
  std::function<void()> on_hit_;
};

class NthMessageRule final : public Rule {
 public:
  explicit NthMessageRule(NthMessage options) : options_(std::move(options)), streams_(options_.draws) {}
  bool applies(const Link& link) const override { return options_.which(link).any(); }
  bool needs_messages() const override { return true; }
  Action on_message(const Message& message) override {
    if (done_ || !options_.which(message.link).has(message.direction) || !options_.matches(message))
      return {};
    if (++seen_ < options_.nth || !drawn(message)) return {};
    if (options_.on_hit) options_.on_hit();
    const Action action = options_.act ? options_.act(message) : options_.action;
    if (options_.count > 0 && ++hits_ >= options_.count) {
      done_ = true;
      if (options_.on_done) options_.on_done();
    }
    return action;
  }

 private:
  bool drawn(const Message& message) {
    if (options_.chance.always()) return true;
    return streams_.of(message.link, message.direction).chance(options_.chance.part, options_.chance.of);
  }

  NthMessage options_;
  LinkStreams streams_;
  std::int64_t seen_ = 0, hits_ = 0;
  bool done_ = false;
};

}  // namespace

LaneFilter all_links() {
  return [](const Link&) { return Lanes{.request = true, .reply = true}; };
}

std::shared_ptr<Rule> make_delay_rule(LaneFilter which, DurationRange range, Rng rng, Chance chance) {
  return std::make_shared<DelayRule>(std::move(which), range, rng, chance);
}

std::shared_ptr<Rule> make_latency_rule(DurationRange range, Rng rng) {
  return std::make_shared<LatencyRule>(range, rng);
}

std::shared_ptr<Rule> make_hold_rule(LaneFilter which) {
  return std::make_shared<HoldRule>(std::move(which), false);
}

std::shared_ptr<Rule> make_bandwidth_rule(LaneFilter which, std::int64_t bytes_per_second, Runtime& clock) {
  return std::make_shared<BandwidthRule>(std::move(which), bytes_per_second, clock);
}

std::shared_ptr<Rule> make_slow_close_rule(LaneFilter which, DurationRange range, Rng rng) {
  return std::make_shared<SlowCloseRule>(std::move(which), range, rng);
}

std::shared_ptr<Rule> make_partition_rule(LaneFilter which) {
  return std::make_shared<HoldRule>(std::move(which), true);
}

std::shared_ptr<Rule> make_refuse_rule(std::function<bool(const Link&)> which, std::function<void()> on_hit) {
  return std::make_shared<RefuseRule>(std::move(which), std::move(on_hit));
}

std::shared_ptr<Rule> make_nth_message_rule(NthMessage options) {
  return std::make_shared<NthMessageRule>(std::move(options));
}

}  // namespace holdfast::sim
