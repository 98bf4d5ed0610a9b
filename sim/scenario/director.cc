#include "sim/scenario/director.h"

#include <exception>

namespace holdfast::sim {

struct Director::Actor {
  Actor(const FaultPlan& plan_, Rng rng_)
      : plan(plan_), config(plan_.config), rng(rng_), fault(plan_.kind->make(plan_.config)) {}

  // Puts the client whose event fired it in the place of kEventClient.
  void meet(std::string_view client) {
    bool changed = false;
    for (auto& [key, value] : config.values) {
      if (auto* text = std::get_if<std::string>(&value); text != nullptr && *text == kEventClient) {
        *text = client;
        changed = true;
      } else if (auto* texts = std::get_if<std::vector<std::string>>(&value)) {
        for (std::string& one : *texts) {
          if (one != kEventClient) continue;
          one = client;
          changed = true;
        }
      }
    }
    if (changed) fault = plan.kind->make(config);
  }

  const FaultPlan& plan;
  FaultConfig config;
  Rng rng;
  std::unique_ptr<Fault> fault;
  bool acting = false;
  bool has_hit = false;       // since it acts
  std::int64_t messages = 0;  // that matched so far
  bool fired = false;         // triggers other than `every` fire once

  const std::string* text(std::string_view key) const { return config.get<std::string>(key); }
};

Director::Director(const Scenario& scenario, World& world, Cluster& cluster, Proxy& proxy, Workload& workload,
                   Recorder& recorder)
    : scenario_(scenario),
      world_(world),
      cluster_(cluster),
      proxy_(proxy),
      workload_(workload),
      recorder_(recorder) {
  for (const FaultPlan& plan : scenario.faults) {
    if (plan.enabled) actors_.push_back(std::make_unique<Actor>(plan, world.rng("fault/" + plan.config.id)));
  }
}

Director::~Director() = default;

void Director::start() {
  keep_marks();
  bool watches_messages = false;
  for (const auto& actor : actors_) {
    const Trigger& trigger = actor->plan.trigger;
    watches_messages = watches_messages || trigger.kind == Trigger::Kind::message;
    const bool at_zero = trigger.kind == Trigger::Kind::at && trigger.time.high.count() == 0;
    if (!at_zero) continue;
    actor->fired = true;
    act_now(*actor);
  }
  for (const auto& actor : actors_) arm(*actor);
  if (watches_messages) {
    proxy_.watch([this](const Message& message) { on_message(message); });
  }
}

void Director::arm(Actor& actor) {
  const Trigger& trigger = actor.plan.trigger;
  switch (trigger.kind) {
    case Trigger::Kind::at:
      if (actor.fired) return;
      nemesis([this, &actor] {
        world_.harness().runtime().sleep_for(draw(actor, actor.plan.trigger.time));
        fire(actor, false);
      });
      return;
    case Trigger::Kind::every:
      nemesis([this, &actor] {
        for (;;) {
          world_.harness().runtime().sleep_for(draw(actor, actor.plan.trigger.time));
          if (!actor.acting) play(actor);
        }
      });
      return;
    case Trigger::Kind::event: {
      EventFilter filter;
      filter.event = trigger.event;
      filter.client = trigger.client;
      filter.nth = trigger.node.empty() ? static_cast<std::uint64_t>(trigger.nth) : 0;
      recorder_.subscribe(filter, [this, &actor](const RunEvent& event) {
        const Trigger& wanted = actor.plan.trigger;
        if (!wanted.node.empty()) {
          if (event.node != wanted.node || ++actor.messages != wanted.nth) return;
        }
        if (!actor.fired) actor.meet(event.client);
        fire(actor, false);
      });
      return;
    }
    case Trigger::Kind::fault:    // fired by act() of that fault
    case Trigger::Kind::message:  // fired by on_message()
      return;
  }
}

void Director::on_message(const Message& message) {
  for (const auto& actor : actors_) {
    const Trigger& trigger = actor->plan.trigger;
    if (trigger.kind != Trigger::Kind::message || actor->fired) continue;
    if (message.link.replication || trigger.direction != message.direction ||
        trigger.message != message.command)
      continue;
    if (!trigger.client.empty() && trigger.client != message.link.from) continue;
    if (!trigger.node.empty() && trigger.node != message.link.to) continue;
    if (++actor->messages != trigger.nth) continue;
    actor->meet(message.link.from);
    fire(*actor, true);
  }
}

void Director::fire(Actor& actor, bool inline_now) {
  const Trigger& trigger = actor.plan.trigger;
  if (actor.fired) return;
  actor.fired = true;
  const Duration delay = trigger.kind == Trigger::Kind::at ? Duration{} : draw(actor, trigger.delay);
  if (inline_now && delay.count() == 0) {
    act_now(actor);
    return;
  }
  ++busy_;
  nemesis([this, &actor, delay] {
    if (delay.count() > 0) world_.harness().runtime().sleep_for(delay);
    play(actor);
    --busy_;
    idle();
  });
}

void Director::act_now(Actor& actor) {
  ++busy_;  // a server may need its time
  if (act(actor) && actor.plan.lasts) return nemesis([this, &actor] { last(actor); });
  --busy_;
  idle();
}

void Director::play(Actor& actor) {
  if (!act(actor) || !actor.plan.lasts) return;
  ++busy_;
  last(actor);
}

void Director::last(Actor& actor) {
  world_.harness().runtime().sleep_for(draw(actor, *actor.plan.lasts));
  heal(actor);
  --busy_;
  idle();
}

bool Director::act(Actor& actor) {
  const FaultPlan& plan = actor.plan;
  if (!plan.during.empty()) {
    bool acts = false;
    for (const auto& other : actors_) acts = acts || (other->plan.config.id == plan.during && other->acting);
    if (!acts) {
      actor.fired = false;  // may fire again while that fault acts
      return false;
    }
  }
  recorder_.fault(plan.config.id, true, plan.kind->name);
  actor.acting = true;
  actor.has_hit = false;
  if (!plan.kind->tells_hits) hit(actor);
  // Dependants count from this fault's start.
  for (const auto& other : actors_) {
    const Trigger& trigger = other->plan.trigger;
    if (trigger.kind == Trigger::Kind::fault && trigger.fault == plan.config.id) fire(*other, false);
  }
  if (plan.kind->name == "pause-client") {
    if (const std::string* client = actor.text("client")) pauses_[*client].emplace_back(world_.now_ns(), -1);
  }
  if (const Duration* by = plan.config.get<Duration>("by");
      by != nullptr && plan.kind->name == "clock-step") {
    if (std::chrono::abs(*by) > scenario_.clock_bound) clocks_within_bounds_ = false;
  }
  FaultTargets its = targets(actor);
  try {
    actor.fault->act(its);
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = "fault `" + plan.config.id + "`: " + error.what();
  }
  if (const std::string* node = actor.text("node"); node != nullptr) {
    if (plan.kind->name == "promote") promoted_.insert(*node);
    if (plan.kind->name == "restart") restarted_.insert(*node);
  }
  return true;
}

// The first hit since the fault acts is a mark.
void Director::hit(Actor& actor) {
  if (!std::exchange(actor.has_hit, true)) recorder_.mark("fault." + actor.plan.config.id);
}

void Director::heal(Actor& actor) {
  FaultTargets its = targets(actor);
  try {
    actor.fault->heal(its);
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = "healing fault `" + actor.plan.config.id + "`: " + error.what();
  }
  actor.acting = false;
  if (const std::string* node = actor.text("node"); node != nullptr && actor.plan.kind->name == "crash")
    restarted_.insert(*node);
  if (actor.plan.kind->name == "pause-client") {
    if (const std::string* client = actor.text("client")) {
      for (auto& interval : pauses_[*client]) {
        if (interval.second < 0) interval.second = world_.now_ns();
      }
    }
  }
  recorder_.fault(actor.plan.config.id, false, actor.plan.kind->name);
  recorder_.mark("fault." + actor.plan.config.id + ".healed");
}

void Director::keep_marks() {
  for (const MarkInfo& event : all_events()) {
    recorder_.subscribe({event.name, "", 1},
                        [this, name = event.name](const RunEvent&) { recorder_.mark(name); });
  }
  recorder_.subscribe({"lock.granted", "", 0}, [this](const RunEvent& event) {
    const std::string node(event.node);
    if (promoted_.erase(node) > 0) recorder_.mark("granted-after-promotion");
    if (restarted_.erase(node) > 0) recorder_.mark("granted-after-restart");
  });
  const auto asks = [](const Expectation& expectation) {
    return std::find(expectation.marks.begin(), expectation.marks.end(), kGrantedDuringFault) !=
           expectation.marks.end();
  };
  if (std::none_of(scenario_.expectations.begin(), scenario_.expectations.end(), asks)) return;
  for (const char* const granted : {"lock.granted", "latch.opened"}) {
    recorder_.subscribe({granted, "", 0}, [this](const RunEvent&) {
      for (const auto& actor : actors_) {
        if (actor->acting && actor->plan.lasts) return recorder_.mark(kGrantedDuringFault);
      }
    });
  }
}

void Director::idle() {
  if (busy_ == 0 && on_idle_) on_idle_();
}

FaultTargets Director::targets(Actor& actor) {
  return FaultTargets{
      .world = world_,
      .cluster = cluster_,
      .proxy = proxy_,
      .client = [this](std::string_view name) { return workload_.client(name); },
      .rng = actor.rng,
      .crash_client = [this](std::string_view name) { workload_.crash(name); },
      .restart_client = [this](std::string_view name) { workload_.restart(name); },
      .hit = [this, &actor] { hit(actor); },
  };
}

Duration Director::draw(Actor& actor, const DurationRange& range) {
  const std::uint64_t ns = actor.rng.between(static_cast<std::uint64_t>(range.low.count()),
                                             static_cast<std::uint64_t>(range.high.count()));
  return Duration(static_cast<std::int64_t>(ns));
}

void Director::nemesis(std::function<void()> body) { world_.harness().start("nemesis", std::move(body)); }

std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> Director::pauses(
    std::int64_t end_ns) const {
  auto pauses = pauses_;
  for (auto& [client, intervals] : pauses) {
    for (auto& interval : intervals) {
      if (interval.second < 0) interval.second = end_ns;
    }
  }
  return pauses;
}

}  // namespace holdfast::sim
