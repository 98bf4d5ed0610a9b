// Wrong versions of the multi lock and of the count-down latch.
#include <chrono>

#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/latch/latch_scripts.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/planted/planted.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;

// What is wrong with a Pair.
enum class PairFault {
  none,
  any_order,
  keeps_first,
  releases_first_only,
  first_failure_ends_release,
  second_is_tried
};

// Two locks as one, in the plainest way.
class Pair final : public Lock {
 public:
  Pair(std::vector<std::shared_ptr<Lock>> members, PairFault fault)
      : members_(std::move(members)), fault_(fault) {}

  void lock() override { static_cast<void>(try_lock_until(kNever)); }
  bool try_lock() override { return try_lock_until(MonotonicTime::min()); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    const bool turned = fault_ == PairFault::any_order && runtime().random() % 2 == 0;
    Lock& first = *members_[turned ? 1 : 0];
    Lock& second = *members_[turned ? 0 : 1];
    for (;;) {
      if (!first.try_lock_until(deadline, stop)) return false;
      try {
        if (fault_ == PairFault::second_is_tried) {
          static_cast<void>(second.try_lock());
          return true;
        }
        if (!second.try_lock_until(deadline, stop)) break;
        if (first.is_held_by_me()) return true;
        second.unlock();  // it was lost while the second was awaited: once more
        first.unlock();
        continue;
      } catch (const LockError&) {
        if (fault_ != PairFault::keeps_first) first.unlock();
        throw;
      }
    }
    if (fault_ != PairFault::keeps_first) first.unlock();
    return false;
  }
  void release() override {
    if (fault_ == PairFault::releases_first_only) return members_[0]->release();
    if (fault_ == PairFault::first_failure_ends_release) {
      for (const auto& member : members_) member->release();
      return;
    }
    if (members_[1]->hold_count() > 0) members_[1]->unlock();
    members_[0]->release();
  }

  bool is_held_by_me() const override { return members_[0]->is_held_by_me(); }
  int hold_count() const override { return members_[0]->hold_count(); }
  std::optional<MonotonicTime> valid_until() const override {
    const auto a = members_[0]->valid_until(), b = members_[1]->valid_until();
    return a && b ? std::min(a, b) : a;
  }
  std::string acquisition() const override { return members_[0]->acquisition(); }
  std::stop_token lost() const override { return members_[0]->lost(); }
  const std::string& key() const noexcept override { return members_[0]->key(); }
  Runtime& runtime() const noexcept override { return members_[0]->runtime(); }

 private:
  const std::vector<std::shared_ptr<Lock>> members_;
  const PairFault fault_;
};

PlantedVersion pair(std::string_view name, std::string_view broken, PairFault fault,
                    std::uint64_t within = 2'048) {
  return {.name = name,
          .base = "multi",
          .broken = broken,
          .within = within,
          .make = [fault](const LockSpaceOptions& options) {
            return make_pairs(options, [fault](std::vector<std::shared_ptr<Lock>> members) {
              return std::make_shared<Pair>(std::move(members), fault);
            });
          }};
}

// Whether a count that it sees is an open latch, though an await would wait on.
using TakenForOpen = bool (*)(const std::optional<std::int64_t>& count);

class HastyLatch final : public Latch {
 public:
  HastyLatch(const LockSpaceOptions& options, const std::string& key, TakenForOpen open)
      : latch_(options.client, key, {.look_again = options.lock.lease}), open_(open) {}
  const std::string& key() const override { return latch_.key(); }
  bool set(std::int64_t count) override { return latch_.set(count); }
  bool count_down() override { return latch_.count_down().has_value(); }
  bool await(const std::optional<Duration>& wait) override {
    if (open_(latch_.count())) return true;
    if (wait) return latch_.await_for(*wait);
    latch_.await();
    return true;
  }

 private:
  CountDownLatch latch_;
  const TakenForOpen open_;
};

class HastyLatches final : public LatchSpace {
 public:
  HastyLatches(const LockSpaceOptions& options, TakenForOpen open) : options_(options), open_(open) {}
  std::shared_ptr<Latch> obtain(const std::string& key) override {
    return std::make_shared<HastyLatch>(options_, key, open_);
  }

 private:
  const LockSpaceOptions options_;
  const TakenForOpen open_;
};

PlantedVersion latch(std::string_view name, std::string_view broken, TakenForOpen open) {
  return {.name = name,
          .base = "count-down-latch",
          .broken = broken,
          .make_latches = [open](const LockSpaceOptions& options) {
            return std::make_unique<HastyLatches>(options, open);
          }};
}

}  // namespace

std::vector<PlantedVersion> planted_composite() {
  const redis::Script *const set = &kLatchSet, *const count_down = &kLatchCountDown;
  return {
      pair("multi-any-order", "it waits for one member while it holds the other, in either order",
           PairFault::any_order),
      pair("multi-keeps-first", "the first member stays held when the second one fails",
           PairFault::keeps_first, 30'000),
      pair("multi-releases-first-only", "a release gives the first member back, and not the second",
           PairFault::releases_first_only),
      pair("multi-first-failure-ends-release", "a release ends where the first member's fails",
           PairFault::first_failure_ends_release, 30'000),
      pair("multi-second-is-tried", "it goes on when the second member is refused",
           PairFault::second_is_tried),
      latch("latch-none-is-open", "a latch that nobody has set yet is taken for open",
            [](const std::optional<std::int64_t>& count) { return !count.has_value(); }),
      latch("latch-one-left-is-open", "an await returns when one is left to count down",
            [](const std::optional<std::int64_t>& count) { return count && *count <= 1; }),
      {.name = "latch-repeated-count-counts",
       .base = "count-down-latch",
       .broken = "a request to count down that is sent again counts again",
       .within = 30'000,
       .edits = {{count_down, " or call('sadd', KEYS[2], ARGV[1]) == 0 then", " then"}}},
      {.name = "latch-two-at-a-time",
       .base = "count-down-latch",
       .broken = "one request counts two down",
       .edits = {{count_down, "call('hincrby', latch, 'left', -1)",
                  "call('hincrby', latch, 'left', -math.min(2, left))"}}},
      {.name = "latch-zero-untold",
       .base = "count-down-latch",
       .broken = "who waits is told nothing, and the count that came to zero is removed",
       .edits = {{count_down, "if left == 0 then call('publish', KEYS[3], '0') end",
                  "if left == 0 then call('del', latch) end"}}},
      {.name = "latch-repeated-set-sets",
       .base = "count-down-latch",
       .broken = "a request to set that is sent again begins a count anew",
       .within = 30'000,
       .edits = {{set, "if known[1] == ARGV[1] then return 1 end\n", ""},
                 {set, "if tonumber(known[2] or 0) > 0 then return 0 end\n", ""}}},
  };
}

std::vector<PlantedVersion> composite_controls() {
  return {
      pair("multi-plain", "nothing: one member after the other", PairFault::none),
      latch("latch-looks-first", "nothing: it looks at the count before it waits",
            [](const std::optional<std::int64_t>&) { return false; }),
  };
}

}  // namespace holdfast::sim
