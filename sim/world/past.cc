#include "sim/world/past.h"

#include <algorithm>
#include <utility>

#include "sim/world/scheduler.h"

namespace holdfast::sim {
namespace {

// Digests of several parties are added up: in no order.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  Trace trace;
  trace.add(a);
  trace.add(b);
  return trace.digest();
}

std::uint64_t key_of(std::string_view name) {
  Trace trace;
  trace.add(name);
  return trace.digest();
}

}  // namespace

struct Past::Party : fibers::Party {
  Party(std::string its_name, std::uint64_t its_key) : name(std::move(its_name)), key(its_key) {}
  const std::string name;
  const std::uint64_t key;  // of its name
  Trace digest;
  std::uint64_t tasks = 0;    // so far
  std::uint64_t stepped = 0;  // the last moment at which a task of it had a turn
  std::uint64_t reached = 0;  // and at which another party did something to it
  const Party* by = nullptr;  // which one
  Trace ready;                // while a moment comes
};

struct Past::Thing {
  std::uint64_t moment = 0;                                            // of what follows
  const Party *reader = nullptr, *adder = nullptr, *writer = nullptr;  // the last of each
  bool readers = false, adders = false, writers = false;               // there are several
  std::uint64_t added = 0;                                             // who, in no order
  Trace written;
};

Past::Party* Past::party_of(const Fiber& fiber) { return static_cast<Party*>(fiber.party); }

Past::Past() = default;
Past::~Past() = default;

Past::Party& Past::party(std::string_view name) {
  const auto found = parties_.find(name);
  if (found != parties_.end()) return *found->second;
  return *parties_.emplace(std::string(name), std::make_unique<Party>(std::string(name), key_of(name)))
              .first->second;
}

void Past::share(std::string_view name, Access access) {
  if (runs_ == nullptr) return;
  const auto found = things_.find(name);
  Thing& thing = found != things_.end() ? found->second : things_[std::string(name)];
  if (thing.moment != moment_) {
    thing = {};
    thing.moment = moment_;
  }
  const auto other = [this](const Party* last, bool several) {
    return several || (last != nullptr && last != runs_);
  };
  const auto note = [this](const Party*& last, bool& several) {
    several = several || (last != nullptr && last != runs_);
    last = runs_;
  };
  const bool reads = other(thing.reader, thing.readers), adds = other(thing.adder, thing.adders),
             writes = other(thing.writer, thing.writers);
  switch (access) {
    case Access::read:
      crossed_ = crossed_ || adds || writes;
      note(thing.reader, thing.readers);
      runs_->digest.add(mixed(thing.written.digest(), thing.added));
      break;
    case Access::add:
      crossed_ = crossed_ || reads || writes;
      note(thing.adder, thing.adders);
      runs_->digest.add(thing.written.digest());
      thing.added += runs_->key;
      break;
    case Access::write:
      crossed_ = crossed_ || reads || adds || writes;
      note(thing.writer, thing.writers);
      runs_->digest.add(mixed(thing.written.digest(), thing.added));
      thing.written.add(runs_->key);
      break;
  }
}

void Past::apart(std::string_view name) {
  if (runs_ == nullptr) return;
  Party& mine = party(name);
  mine.digest.add(static_cast<std::uint64_t>(now_));
  mine.stepped = moment_;
  running_->party = runs_ = &mine;
  running_->number = ++mine.tasks;
}

void Past::took(std::uint64_t word) {
  if (runs_ != nullptr) runs_->digest.add(word);
}

void Past::took(std::string_view bytes) {
  if (runs_ != nullptr) runs_->digest.add(bytes);
}

void Past::meet_all() {
  for (const auto& [name, party] : parties_) reach(*party);
}

std::uint64_t Past::state(const std::vector<std::string>& without) const {
  std::uint64_t sum = order_;
  for (const auto& [name, party] : parties_) {
    const auto begins = [&its = name](const std::string& with) { return its.starts_with(with); };
    if (std::any_of(without.begin(), without.end(), begins)) continue;
    sum += mixed(party->key, party->digest.digest());
  }
  Trace all;
  all.add(sum);
  all.add(static_cast<std::uint64_t>(now_));
  for (const std::uint64_t one : connecting_) all.add(one);
  return all.digest();
}

bool Past::moment(std::int64_t now, const FiberQueue& ready) {
  ++moment_;
  now_ = now;
  runs_ = nullptr;
  running_ = nullptr;
  const bool crossed = std::exchange(crossed_, false);
  for (const Fiber* fiber = ready.head(); fiber != nullptr; fiber = fiber->queue_next)
    party_of(*fiber)->ready.add(fiber->number);
  order_ = 0;
  for (Fiber* fiber = ready.head(); fiber != nullptr; fiber = fiber->queue_next) {
    Party& its = *party_of(*fiber);
    if (its.ready.digest() == Trace().digest()) continue;  // counted already
    order_ += mixed(its.key, its.ready.digest());
    its.ready = Trace();
  }
  if (told_ && !told_(crossed)) cut_ = true;
  return !cut_;
}

void Past::started(Fiber& fiber, ProcessGroup& group) {
  const bool own = running_ != nullptr && running_->group == &group;
  if (!own && group.party == nullptr) group.party = &party(group.name);
  Party& its = own ? *runs_ : *group.party;
  fiber.party = &its;
  if (!own) reach(its);
  fiber.number = ++its.tasks;
}

void Past::turn(Fiber& fiber, std::int64_t now) {
  running_ = fiber.party == nullptr ? nullptr : &fiber;
  runs_ = party_of(fiber);
  if (runs_ == nullptr) return;
  runs_->digest.add(fiber.number << 1 | (fiber.timed_out ? 1u : 0u));
  runs_->digest.add(static_cast<std::uint64_t>(now));
  if (fiber.group->dead) return;  // it unwinds, at once and whatever others do
  if (runs_->reached == moment_) crossed_ = true;
  runs_->stepped = moment_;
}

void Past::reach(Fiber& fiber) {
  if (fiber.party != nullptr) reach(*party_of(fiber));
}

void Past::reach(ProcessGroup& group) {
  if (group.party != nullptr) reach(*group.party);
  for (Fiber* fiber = group.first; fiber != nullptr; fiber = fiber->group_next) {
    if (fiber->party != group.party) reach(*fiber);
  }
}

void Past::reach(Party& party) {
  if (runs_ == nullptr || runs_ == &party) return;
  if (party.stepped == moment_ || (party.reached == moment_ && party.by != runs_)) crossed_ = true;
  party.reached = moment_;
  party.by = runs_;
  party.digest.add(runs_->key);
}

void Past::choice(const FiberQueue& ready) {
  choosing_ = &ready;
  alike_.clear();
  for (const Fiber* fiber = ready.head(); fiber != nullptr; fiber = fiber->queue_next)
    alike_.push_back(fiber->party == ready.head()->party);
}

std::vector<std::string> Past::tasks() const {
  std::vector<std::string> names;
  for (const Fiber* fiber = choosing_ == nullptr ? nullptr : choosing_->head(); fiber != nullptr;
       fiber = fiber->queue_next) {
    const bool own =
        fiber->party == nullptr || fiber->party == static_cast<ProcessGroup*>(fiber->group)->party;
    names.push_back(own ? fiber->group->name + "/" + fiber->role->name : party_of(*fiber)->name);
  }
  return names;
}

void Past::asks_to_connect(std::string_view where) {
  connecting_.push_back(
      mixed(key_of(where), mixed(runs_ == nullptr ? 0 : runs_->key, static_cast<std::uint64_t>(now_))));
}

void Past::asked_to_connect() {
  if (!connecting_.empty()) connecting_.pop_front();
}

}  // namespace holdfast::sim
