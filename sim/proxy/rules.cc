#include "sim/proxy/rules.h"

#include <map>
#include <utility>

namespace holdfast::sim {
namespace {

class DelayRule final : public Rule {
 public:
  DelayRule(LaneFilter which, DurationRange range, Rng rng)
      : which_(std::move(which)), range_(range), rng_(rng) {}
  bool applies(const Link& link) const override { return which_(link).any(); }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view) override {
    if (!which_(link).has(direction)) return {};
    return {.kind = Action::Kind::pass, .delay = range_.draw(rng_)};
  }

 private:
  LaneFilter which_;
  DurationRange range_;
  Rng rng_;
};

class LatencyRule final : public Rule {
 public:
  LatencyRule(DurationRange range, Rng rng) : range_(range), rng_(rng) {}
  bool applies(const Link&) const override { return true; }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link&, Direction, std::string_view) override {
    return {.kind = Action::Kind::pass, .delay = range_.draw(rng_)};
  }

 private:
  DurationRange range_;
  Rng rng_;
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
  explicit NthMessageRule(NthMessage options) : options_(std::move(options)) {}
  bool applies(const Link& link) const override { return options_.which(link).any(); }
  bool needs_messages() const override { return true; }
  Action on_message(const Message& message) override {
    if (done_ || !options_.which(message.link).has(message.direction) || !options_.matches(message))
      return {};
    if (++seen_ < options_.nth || !drawn(message.link)) return {};
    if (options_.on_hit) options_.on_hit();
    if (options_.count > 0 && ++hits_ >= options_.count) {
      done_ = true;
      if (options_.on_done) options_.on_done();
    }
    return options_.action;
  }

 private:
  bool drawn(const Link& link) {
    if (options_.percent >= 100) return true;
    const std::string name = link.from + " " + link.to;
    const auto stream = streams_.try_emplace(name, Rng::derive(options_.draws, name)).first;
    return stream->second.chance(static_cast<std::uint64_t>(options_.percent), 100);
  }

  NthMessage options_;
  std::map<std::string, Rng> streams_;  // by link
  std::int64_t seen_ = 0, hits_ = 0;
  bool done_ = false;
};

}  // namespace

LaneFilter all_links() {
  return [](const Link&) { return Lanes{.request = true, .reply = true}; };
}

std::shared_ptr<Rule> make_delay_rule(LaneFilter which, DurationRange range, Rng rng) {
  return std::make_shared<DelayRule>(std::move(which), range, rng);
}

std::shared_ptr<Rule> make_latency_rule(DurationRange range, Rng rng) {
  return std::make_shared<LatencyRule>(range, rng);
}

std::shared_ptr<Rule> make_hold_rule(LaneFilter which) {
  return std::make_shared<HoldRule>(std::move(which), false);
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
