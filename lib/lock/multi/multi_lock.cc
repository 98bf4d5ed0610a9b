#include "lib/lock/multi/multi_lock.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>

namespace holdfast {
namespace {

// Of the pause after a round that was refused, drawn up to a bound that doubles from round to round: two that
// take each other's members by turns go apart when it is longer than what they need for a round.
constexpr std::chrono::microseconds kFirstPause(5'000), kLongestPause(640'000);

// From so many holds on, each further one looks for those that no task can give back any more.
constexpr std::size_t kMostBeforeALook = 64;

// While one of them is held the other is not granted: they are one lock, or two objects of one record.
bool exclude(const Lock& one, const Lock& other) {
  if (&one == &other) return true;
  const bool readers = one.mode() == "read" && other.mode() == "read";
  return !readers && !one.record().empty() && one.record() == other.record();
}

std::vector<std::shared_ptr<Lock>> checked(std::vector<std::shared_ptr<Lock>> members) {
  if (members.empty()) throw std::invalid_argument("a multi lock needs at least one member");
  for (auto member = members.begin(); member != members.end(); ++member) {
    if (*member == nullptr) throw std::invalid_argument("a multi lock cannot have a null member");
    if (std::any_of(members.begin(), member,
                    [&](const auto& before) { return exclude(*before, **member); })) {
      throw std::invalid_argument("a multi lock has the lock '" + (*member)->key() + "' twice");
    }
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a->key() < b->key(); });
  return members;
}

std::string joined_keys(const std::vector<std::shared_ptr<Lock>>& members) {
  std::string keys;
  for (const auto& member : members) keys += (keys.empty() ? "" : "+") + member->key();
  return keys;
}

// What one round took. It is given back in reverse; from `deadline` on, or when a server does not answer,
// that goes on in the background. Not by a destructor: giving back waits, and who waits while the stack
// unwinds is not told that its process was killed.
class Taken {
 public:
  explicit Taken(MonotonicTime deadline) : deadline_(deadline) {}
  void add(Lock& lock) { locks_.push_back(&lock); }
  void give_back() {
    while (!locks_.empty()) {
      Lock* const last = locks_.back();
      locks_.pop_back();
      try {
        last->release_by(deadline_);
      } catch (const Unavailable&) {
        deadline_ = std::min(deadline_, last->runtime().now());
      } catch (const LockError&) {  // lost, or left to its lease: either way it is not ours any more
      }
    }
  }

 private:
  MonotonicTime deadline_;
  std::vector<Lock*> locks_;
};

}  // namespace

// One hold of all members. Its callbacks wait at their end for what they have called: callbacks of lost(),
// which may take long, or wait for the very task that releases. So what ends meanwhile is left to them.
struct MultiLock::Mine {
  enum class Stage { held, ended, telling, left, told };
  struct Loss {
    std::stop_source source;
    std::atomic<Stage> stage = Stage::held;
    std::unique_ptr<Mine> hold;  // left to who tells

    bool moves(Stage from, Stage to) { return stage.compare_exchange_strong(from, to); }
  };
  struct Tell {
    std::shared_ptr<Loss> of;
    void operator()() const {
      const std::shared_ptr<Loss> loss = of;  // this object may be gone before the end
      if (!loss->moves(Stage::held, Stage::telling)) return;
      loss->source.request_stop();
      if (loss->moves(Stage::telling, Stage::told)) return;
      const std::unique_ptr<Mine> left = std::move(loss->hold);
    }
  };
  using Callback = std::stop_callback<Tell>;

  // Waits for no callback of lost().
  static void end(std::unique_ptr<Mine> hold) {
    const std::shared_ptr<Loss> loss = hold->loss;
    if (loss->moves(Stage::held, Stage::ended) || loss->stage != Stage::telling) return;
    loss->hold = std::move(hold);
    if (loss->moves(Stage::telling, Stage::left)) return;
    hold = std::move(loss->hold);  // told meanwhile
  }
  // Nobody can release it any more, and whoever asked knows.
  bool abandoned() const { return life.expired() && loss->stage != Stage::held; }

  HolderId holder = 0;
  int depth = 1;
  std::weak_ptr<const void> life = {};
  std::shared_ptr<Loss> loss = std::make_shared<Loss>();
  std::vector<std::unique_ptr<Callback>> callbacks = {};
};

MultiLock::MultiLock(std::vector<std::shared_ptr<Lock>> members)
    : members_(checked(std::move(members))),
      key_(joined_keys(members_)),
      mutex_(members_.front()->runtime()) {}

MultiLock::~MultiLock() {
  for (auto& hold : mine_) Mine::end(std::move(hold));
}

const MultiLock::Mine* MultiLock::mine() const {
  const HolderId me = current_holder(runtime());
  const auto found =
      std::find_if(mine_.begin(), mine_.end(), [&](const auto& mine) { return mine->holder == me; });
  return found == mine_.end() ? nullptr : found->get();
}

bool MultiLock::acquire(bool wait, MonotonicTime deadline, const std::stop_token& stop) {
  if (hold_count() > 0) {
    if (!is_held_by_me()) {
      throw LockLost("lock '" + key_ + "': the hold was lost; release it before you acquire again", key_, "",
                     false);
    }
    const std::scoped_lock guard(mutex_);
    ++const_cast<Mine*>(mine())->depth;
    return true;
  }
  if (!acquire_all(wait, deadline, stop)) return false;
  auto mine = std::make_unique<Mine>();
  mine->holder = current_holder(runtime());
  mine->life = life_of_holder(runtime());
  for (const auto& member : members_) {
    mine->callbacks.push_back(std::make_unique<Mine::Callback>(member->lost(), Mine::Tell{mine->loss}));
  }
  std::vector<std::unique_ptr<Mine>> abandoned;
  {
    const std::scoped_lock guard(mutex_);
    if (mine_.size() >= kMostBeforeALook) {
      for (auto& hold : mine_) {
        if (hold->abandoned()) abandoned.push_back(std::move(hold));
      }
      std::erase(mine_, nullptr);
    }
    mine_.push_back(std::move(mine));
  }
  for (auto& hold : abandoned) Mine::end(std::move(hold));
  return true;
}

bool MultiLock::acquire_all(bool wait, MonotonicTime deadline, const std::stop_token& stop) {
  const MonotonicTime came = runtime().now();
  std::size_t first = 0;
  std::chrono::microseconds longest_pause = kFirstPause;
  for (;;) {
    Taken taken(deadline);
    std::size_t refused = members_.size();
    MonotonicTime asked = runtime().now();
    try {
      Lock& waited_for = *members_[first];
      if (!(wait ? waited_for.try_lock_until(deadline, stop) : waited_for.try_lock_by(deadline))) {
        return false;
      }
      taken.add(waited_for);
      for (std::size_t i = 0; i < members_.size() && refused == members_.size(); ++i) {
        if (i == first) continue;
        asked = runtime().now();
        if (wait && asked >= deadline) {
          taken.give_back();
          return false;
        }
        if (members_[i]->try_lock_by(deadline)) {
          taken.add(*members_[i]);
        } else {
          refused = i;
        }
      }
    } catch (const TaskCancelled&) {  // the process is dead: nothing can be given back
      throw;
    } catch (const Unavailable&) {
      // Most of the time went by at other members: no answer in the rest is no sign of a fault.
      const bool too_late =
          wait && deadline != kNever && runtime().now() >= deadline && asked - came >= deadline - asked;
      taken.give_back();
      if (!too_late) throw;
      return false;
    } catch (...) {
      taken.give_back();
      throw;
    }
    const bool all_held = std::all_of(members_.begin(), members_.end(),
                                      [](const auto& member) { return member->is_held_by_me(); });
    if (refused == members_.size() && all_held) return true;
    taken.give_back();
    if (!wait || runtime().now() >= deadline) return false;
    if (stop.stop_requested())
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    if (refused < members_.size()) first = refused;
    const auto longest = static_cast<std::uint64_t>(longest_pause.count());
    const std::chrono::microseconds pause(runtime().random_between(0, longest));
    longest_pause = std::min(2 * longest_pause, kLongestPause);
    runtime().sleep_until(std::min(deadline, deadline_after(runtime().now(), pause)));
  }
}

void MultiLock::release_by(MonotonicTime deadline) {
  std::unique_ptr<Mine> mine;
  {
    const std::scoped_lock guard(mutex_);
    const HolderId me = current_holder(runtime());
    const auto found =
        std::find_if(mine_.begin(), mine_.end(), [&](const auto& each) { return each->holder == me; });
    if (found == mine_.end()) {
      throw NotOwner("lock '" + key_ + "': the calling task does not hold it", key_, "", false);
    }
    if (--(*found)->depth > 0) return;
    mine = std::move(*found);
    mine_.erase(found);
  }
  Mine::end(std::move(mine));
  std::exception_ptr first_failure;
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    try {
      (*member)->release_by(deadline);
    } catch (const LockError&) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

void MultiLock::extend(Duration lease) {
  if (hold_count() == 0) {
    throw NotOwner("lock '" + key_ + "': the calling task does not hold it", key_, "", false);
  }
  for (const auto& member : members_) member->extend(lease);
}

bool MultiLock::is_held_by_me() const {
  return hold_count() > 0 && std::all_of(members_.begin(), members_.end(),
                                         [](const auto& member) { return member->is_held_by_me(); });
}

int MultiLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const Mine* const found = mine();
  return found == nullptr ? 0 : found->depth;
}

std::optional<MonotonicTime> MultiLock::valid_until() const {
  if (hold_count() == 0) return std::nullopt;
  std::optional<MonotonicTime> earliest;
  for (const auto& member : members_) {
    const std::optional<MonotonicTime> until = member->valid_until();
    if (until && (!earliest || *until < *earliest)) earliest = until;
  }
  return earliest;
}

std::string MultiLock::acquisition() const {
  return hold_count() == 0 ? std::string() : members_.front()->acquisition();
}

std::stop_token MultiLock::lost() const {
  const std::scoped_lock guard(mutex_);
  const Mine* const found = mine();
  return found == nullptr ? std::stop_token() : found->loss->source.get_token();
}

bool MultiLock::in_use() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& member) { return member->in_use(); });
}

bool MultiLock::force_unlock() {
  bool held = false;
  std::exception_ptr first_failure;
  for (const auto& member : members_) {
    try {
      held = member->force_unlock() || held;
    } catch (const LockError&) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
  return held;
}

}  // namespace holdfast
