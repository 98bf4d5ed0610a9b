#include "sim/scenario/director.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "checker/history/liveness.h"

namespace holdfast::sim {

struct Director::Actor {
  // `explored`: at which of its places it acts is drawn at each of them, not beforehand: what comes before is
  // the same then, wherever it acts.
  Actor(const FaultPlan& plan_, Rng rng_, bool explored)
      : plan(plan_), config(plan_.config), rng(rng_), fault(plan_.kind->make(plan_.config)) {
    const Trigger& trigger = plan.trigger;
    if (trigger.last_nth <= trigger.nth) return;
    if (explored && plan.during.empty()) {
      places.emplace(rng.child("place"));
    } else {
      Rng drawn = rng.child("nth");
      nth = draw_place(drawn, trigger.nth);
    }
  }
  // One of the places from that one on, uniformly.
  std::int64_t draw_place(Rng& from, std::int64_t first) const {
    return static_cast<std::int64_t>(
        from.between(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(plan.trigger.last_nth)));
  }
  // The place that has come: whether it acts there.
  bool is_its_place() {
    if (places && seen >= plan.trigger.nth && seen <= plan.trigger.last_nth) nth = draw_place(*places, seen);
    return seen == nth && !(plan.trigger.or_never && nth == plan.trigger.last_nth);
  }

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

  // The acts that `until` leaves open: what they waited for came by.
  void ends_its_acts(std::int64_t nth);

  const FaultPlan& plan;
  FaultConfig config;
  Rng rng;  // when it acts; each act has a stream below it
  std::unique_ptr<Fault> fault;
  std::int64_t nth = plan.trigger.nth;  // which of what matches it fires at
  std::optional<Rng> places;            // while that is not drawn yet
  int acting = 0;                       // acts that are not healed
  std::int64_t acts = 0;                // so far
  bool has_hit = false;                 // since it acts
  std::int64_t seen = 0;  // events or messages that matched; with `during`: since that fault began to act
  bool fired = false;     // triggers other than `every` fire once
  std::vector<std::shared_ptr<Act>> open;
};

struct Director::Act {
  Actor& actor;
  std::string name;
  Healing healing;
  Rng rng;                // what it draws
  Rng times;              // how long it lasts
  Duration lasts{};       // drawn before it acts, if its kind wants to know
  std::int64_t seen = 0;  // of what `until` counts
  bool over = false, healed_early = false;
  Parker* waiter = nullptr;  // for these

  Recorder::FaultAct told() const {
    const FaultPlan& plan = actor.plan;
    return {.fault = plan.config.id,
            .act = name,
            .description = plan.kind->name,
            .at_once = plan.kind->at_once && !plan.heals()};
  }
};

void Director::Actor::ends_its_acts(std::int64_t nth) {
  for (const auto& act : open) {
    if (!plan.until || ++act->seen < nth) continue;
    act->over = true;
    if (act->waiter != nullptr) act->waiter->unpark();
  }
}

Director::Director(const Scenario& scenario, World& world, Cluster& cluster, Proxy& proxy, Workload& workload,
                   Recorder& recorder)
    : scenario_(scenario),
      world_(world),
      cluster_(cluster),
      proxy_(proxy),
      workload_(workload),
      recorder_(recorder) {
  for (const FaultPlan& plan : scenario.faults) {
    if (plan.enabled)
      actors_.push_back(
          std::make_unique<Actor>(plan, world.rng("fault/" + plan.config.id), past_of(world) != nullptr));
  }
}

Director::~Director() = default;

void Director::start() {
  keep_marks();
  cluster_.on_role_changed = [this](const std::string& node, bool primary) { role_changed(node, primary); };
  cluster_.on_replica_turned = [this](const std::string& node) { recorder_.mark("replica-turned", node); };
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
  if (scenario_.calm) {
    nemesis([this] {
      world_.harness().runtime().sleep_for(*scenario_.calm);
      calm_down();
    });
  }
  if (watches_messages) {
    proxy_.watch([this](const Message& message) { on_message(message); },
                 [this](const Message& message) { return may_act(message); });
  }
}

void Director::arm(Actor& actor) {
  const Trigger& trigger = actor.plan.trigger;
  if (const auto& until = actor.plan.until; until && until->kind == Trigger::Kind::event) {
    recorder_.subscribe({.event = until->event, .client = until->client},
                        [this, &actor](const RunEvent& event) {
                          const Trigger& end = *actor.plan.until;
                          share("until/" + actor.plan.config.id, Past::Access::write);
                          if (end.node.empty() || event.node == end.node) actor.ends_its_acts(end.nth);
                        });
  }
  switch (trigger.kind) {
    case Trigger::Kind::at:
      if (actor.fired) return;
      nemesis([this, &actor] {
        world_.harness().runtime().sleep_for(actor.plan.trigger.time.draw(actor.rng));
        fire(actor, false);
      });
      return;
    case Trigger::Kind::every:
      nemesis([this, &actor] {
        for (;;) {
          world_.harness().runtime().sleep_for(actor.plan.trigger.time.draw(actor.rng));
          if (actor.acting > 0) continue;
          ++busy_;  // a server may need its time
          play(actor);
          --busy_;
          idle();
        }
      });
      return;
    case Trigger::Kind::event:
      recorder_.subscribe({.event = trigger.event, .client = trigger.client},
                          [this, &actor](const RunEvent& event) {
                            const Trigger& wanted = actor.plan.trigger;
                            share("fault/" + actor.plan.config.id, Past::Access::add);
                            if (actor.fired || (!wanted.node.empty() && event.node != wanted.node)) return;
                            if (!counts(actor)) return;
                            actor.meet(event.client);
                            fire(actor, false);
                          });
      return;
    case Trigger::Kind::fault:    // fired by act() of that fault
    case Trigger::Kind::message:  // fired by on_message()
      return;
  }
}

bool Director::waits_for(const Actor& actor, const Message& message) {
  return !actor.fired && matches(actor, message);
}

bool Director::matches(const Actor& actor, const Message& message) {
  const Trigger& trigger = actor.plan.trigger;
  if (trigger.kind != Trigger::Kind::message) return false;
  if (!message.link.of_client() || trigger.direction != message.direction ||
      trigger.message != message.command)
    return false;
  if (!trigger.client.empty() && trigger.client != message.link.from) return false;
  return trigger.node.empty() || trigger.node == message.link.to;
}

bool Director::may_act(const Message& message) const {
  return std::any_of(actors_.begin(), actors_.end(),
                     [&](const auto& actor) { return waits_for(*actor, message); });
}

void Director::on_message(const Message& message) {
  for (const auto& actor : actors_) {
    if (!matches(*actor, message)) continue;
    share("fault/" + actor->plan.config.id, Past::Access::add);
    if (actor->fired || !counts(*actor)) continue;
    actor->meet(message.link.from);
    fire(*actor, true);
  }
}

bool Director::counts(Actor& actor) {
  const FaultPlan& plan = actor.plan;
  if (!plan.during.empty() && !acts_now(plan.during)) return false;
  ++actor.seen;
  return actor.is_its_place();
}

void Director::share(const std::string& what, Past::Access access) const {
  if (Past* const past = past_of(world_)) past->share(what, access);
}

bool Director::acts_now(const std::string& fault) const {
  share("fault/" + fault, Past::Access::read);
  return std::any_of(actors_.begin(), actors_.end(),
                     [&](const auto& actor) { return actor->plan.config.id == fault && actor->acting > 0; });
}

void Director::fire(Actor& actor, bool inline_now) {
  const Trigger& trigger = actor.plan.trigger;
  if (actor.fired || !armed_) return;
  share("fault/" + actor.plan.config.id, Past::Access::write);
  actor.fired = true;
  const Duration delay = trigger.kind == Trigger::Kind::at ? Duration{} : trigger.delay.draw(actor.rng);
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
  const std::shared_ptr<Act> its = act(actor);
  if (its != nullptr && actor.plan.heals()) return nemesis([this, its] { last(*its); });
  --busy_;
  idle();
}

void Director::play(Actor& actor) {
  const std::shared_ptr<Act> its = act(actor);
  if (its == nullptr || !actor.plan.heals()) return;
  ++busy_;
  last(*its);
}

void Director::last(Act& act) {
  const FaultPlan& plan = act.actor.plan;
  Runtime& runtime = world_.harness().runtime();
  Duration more{};
  act.waiter = &runtime.parker();
  if (plan.until) {
    while (!act.over && !act.healed_early) act.waiter->park_until(kNever);
    more = plan.until->delay.draw(act.times);
  } else {
    more = plan.kind->knows_length ? act.lasts : plan.lasts->draw(act.times);
  }
  const MonotonicTime end = deadline_after(runtime.now(), more);
  do act.waiter->park_until(end);
  while (!act.healed_early && runtime.now() < end);
  act.waiter = nullptr;
  heal(act);
  --busy_;
  idle();
}

std::shared_ptr<Director::Act> Director::act(Actor& actor) {
  const FaultPlan& plan = actor.plan;
  if (!armed_) return nullptr;
  share("fault/" + plan.config.id, Past::Access::write);
  if (Past* const past = past_of(world_)) past->meet_all();
  if (!plan.during.empty() && !acts_now(plan.during)) {
    actor.fired = false;  // may fire again while that fault acts
    actor.seen = 0;
    return nullptr;
  }
  const std::string number = std::to_string(++actor.acts);
  const Rng rng = actor.rng.child(number);
  const auto its = std::make_shared<Act>(Act{.actor = actor,
                                             .name = plan.config.id + "#" + number,
                                             .healing = {},
                                             .rng = rng,
                                             .times = rng.child("for")});
  recorder_.fault(its->told(), true);
  ++actor.acting;
  actor.has_hit = false;
  if (plan.kind->on_links) hit(actor);
  for (const auto& other : actors_) {
    if (other->plan.during == plan.config.id) other->seen = 0;
  }
  // Dependants count from this fault's start.
  for (const auto& other : actors_) {
    const Trigger& trigger = other->plan.trigger;
    if (trigger.kind == Trigger::Kind::fault && trigger.fault == plan.config.id) fire(*other, false);
  }
  for (const auto& other : actors_) {
    const auto& until = other->plan.until;
    if (until && until->kind == Trigger::Kind::fault && until->fault == plan.config.id)
      other->ends_its_acts(1);
  }
  if (plan.heals()) actor.open.push_back(its);
  if (plan.kind->knows_length && plan.lasts) its->lasts = plan.lasts->draw(its->times);
  FaultTargets reach = targets(actor, *its);
  try {
    its->healing = actor.fault->act(reach);
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = "fault `" + plan.config.id + "`: " + error.what();
    its->over = true;
  }
  if (plan.kind->at_once && !plan.heals()) --actor.acting;
  if (!plan.kind->at_once && !plan.heals()) {
    // A server that stands still takes its time, and calm may have come meanwhile.
    if (calm_ && !stays_broken(actor))
      heal(*its);
    else
      for_good_.push_back(its);
  }
  return its;
}

// It strikes nobody else than the nodes that stay broken.
bool Director::stays_broken(const Actor& actor) const {
  const auto all_stay = [&](const SettingValue& value) {
    const auto stays = [&](const std::string& name) {
      const auto& stay = scenario_.stay_broken;
      return std::find(stay.begin(), stay.end(), name) != stay.end();
    };
    if (const auto* const name = std::get_if<std::string>(&value)) return stays(*name);
    const auto* const names = std::get_if<std::vector<std::string>>(&value);
    return names != nullptr && !names->empty() && std::all_of(names->begin(), names->end(), stays);
  };
  return std::any_of(actor.config.values.begin(), actor.config.values.end(), [&](const auto& value) {
    return (value.first == "node" || value.first == "between" || value.first == "and") &&
           all_stay(value.second);
  });
}

void Director::calm_down() {
  armed_ = false;
  calm_ = true;
  for (const auto& act : std::exchange(for_good_, {})) {
    if (!stays_broken(act->actor)) heal(*act);
  }
  for (const auto& actor : actors_) {
    if (stays_broken(*actor)) continue;
    for (const auto& act : actor->open) {
      act->healed_early = true;
      if (act->waiter != nullptr) act->waiter->unpark();
    }
  }
  recorder_.mark(checker::kLiveness);
}

// The first hit since the fault acts is a mark.
void Director::hit(Actor& actor) {
  if (!std::exchange(actor.has_hit, true)) recorder_.mark("fault." + actor.plan.config.id);
}

void Director::heal(Act& act) {
  Actor& actor = act.actor;
  share("fault/" + actor.plan.config.id, Past::Access::write);
  if (Past* const past = past_of(world_)) past->meet_all();
  FaultTargets reach = targets(actor, act);
  try {
    if (act.healing) act.healing(reach);
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = "healing fault `" + actor.plan.config.id + "`: " + error.what();
  }
  --actor.acting;
  std::erase_if(actor.open, [&](const auto& one) { return one.get() == &act; });
  recorder_.fault(act.told(), false);
  recorder_.mark("fault." + actor.plan.config.id + ".healed");
}

void Director::note(const Act& act, const FaultEffect& effect) {
  if (!act.actor.plan.kind->tells_hits) hit(act.actor);
  switch (effect.what) {
    case checker::Effect::promoted:
      share("promoted", Past::Access::write);
      promoted_.insert(effect.party);
      workload_.promoted(effect.party);
      break;
    case checker::Effect::restarted:
      share("promoted", Past::Access::write);
      restarted_.insert(effect.party);
      break;
    case checker::Effect::clock_stepped: {
      Duration& off = stepped_[effect.party];
      off += effect.by;
      if (std::max(std::chrono::abs(effect.by), std::chrono::abs(off)) > scenario_.clock_bound)
        clocks_within_bounds_ = false;
      recorder_.effect(act.told(), effect.what, effect.party, effect.by.count());
      return;
    }
    case checker::Effect::clock_drifts: {  // what it gains or loses within one lease
      const Duration lease = scenario_.workload.lease;
      if (lease / 1'000'000 * std::abs(effect.ppm) > scenario_.clock_bound) clocks_within_bounds_ = false;
      recorder_.effect(act.told(), effect.what, effect.party, effect.ppm);
      return;
    }
    default: break;
  }
  recorder_.effect(act.told(), effect.what, effect.party);
}

// Sentinels, or nodes that elect, did it, by themselves or because a fault asked them to.
void Director::role_changed(const std::string& node, bool primary) {
  const std::string who = scenario_.cluster.topology == Topology::sentinel ? "sentinels" : "election";
  const std::string act = who + "#" + std::to_string(++role_changes_);
  const Recorder::FaultAct told{.fault = who, .act = act, .description = who, .at_once = true};
  recorder_.fault(told, true);
  recorder_.effect(told, primary ? checker::Effect::promoted : checker::Effect::demoted, node);
  if (!primary) return;
  workload_.promoted(node);
  share("promoted", Past::Access::write);
  promoted_.insert(node);
  recorder_.publish({.kind = RunEventKind::node_promoted,
                     .client = {},
                     .key = {},
                     .id = {},
                     .node = node,
                     .time_ns = world_.now_ns()});
}

void Director::keep_marks() {
  for (const RunEventInfo& event : all_run_events()) {
    recorder_.subscribe({.event = event.kind, .nth = 1},
                        [this, name = event.name](const RunEvent&) { recorder_.mark(name); });
  }
  recorder_.subscribe({.event = RunEventKind::lock_granted}, [this](const RunEvent& event) {
    const std::string node(event.node);
    share("promoted", Past::Access::read);
    if (promoted_.erase(node) > 0) recorder_.mark("granted-after-promotion");
    if (restarted_.erase(node) > 0) recorder_.mark("granted-after-restart");
  });
  const auto asks = [](const Expectation& expectation) {
    return std::find(expectation.marks.begin(), expectation.marks.end(), kGrantedDuringFault) !=
           expectation.marks.end();
  };
  if (std::none_of(scenario_.expectations.begin(), scenario_.expectations.end(), asks)) return;
  for (const RunEventKind granted : {RunEventKind::lock_granted, RunEventKind::latch_opened}) {
    recorder_.subscribe({.event = granted}, [this](const RunEvent&) {
      for (const auto& actor : actors_) {
        if (actor->acting > 0 && actor->plan.heals()) return recorder_.mark(kGrantedDuringFault);
      }
    });
  }
}

void Director::idle() {
  if (busy_ == 0 && on_idle_) on_idle_();
}

FaultTargets Director::targets(Actor& actor, Act& act) {
  return FaultTargets{
      .world = world_,
      .cluster = cluster_,
      .proxy = proxy_,
      .client = [this](std::string_view name) { return workload_.client(name); },
      .rng = act.rng,
      .crash_client = [this](std::string_view name) { workload_.crash(name); },
      .restart_client = [this](std::string_view name) { workload_.restart(name); },
      .fork_client = [this](std::string_view name,
                            std::function<void()> refused) { workload_.fork(name, std::move(refused)); },
      .hit = [this, &actor] { hit(actor); },
      .lasts = act.lasts,
      .tell = [this, &act](const FaultEffect& effect) { note(act, effect); },
  };
}

void Director::nemesis(std::function<void()> body) { world_.harness().start("nemesis", std::move(body)); }

}  // namespace holdfast::sim
