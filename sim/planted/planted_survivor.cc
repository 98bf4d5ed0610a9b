// Wrong versions of the survivor: the guard around its scripts with one rule less, and stores that count
// acknowledgements otherwise.
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/survivor_scripts.h"
#include "lib/lock/store/survivor_store.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/planted/planted.h"
#include "sim/planted/planted_store.h"

namespace holdfast::sim {
namespace {

class AnyAge final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  std::size_t needed(Purpose, const Replicas&) const override { return majority_; }
};

class AllConnected final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  std::size_t needed(Purpose, const Replicas& replicas) const override { return replicas.connected; }
};

class MajorityOfConnected final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  std::size_t needed(Purpose, const Replicas& replicas) const override {
    return (replicas.connected + 1) / 2;
  }
};

class RenewalsUnacknowledged final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  std::size_t needed(Purpose purpose, const Replicas& replicas) const override {
    return purpose == Purpose::renew ? 0 : SurvivorStore::needed(purpose, replicas);
  }
  std::size_t waits_for(Purpose purpose) const override {
    return purpose == Purpose::renew ? 0 : SurvivorStore::waits_for(purpose);
  }
};

class NoAcknowledgements final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  std::size_t needed(Purpose, const Replicas&) const override { return 0; }
  std::size_t waits_for(Purpose) const override { return 0; }
};

class NoLastLook final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  bool same_stint(const Stint&, const Stint&) const override { return true; }
};

// Who asks again, and is refused though its record is there, is taken for somebody who renews.
class RepeatedAcquireRenews final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    redis::Answer answer = SurvivorStore::acquire(wire, keys, args, options);
    std::vector<redis::Reply>& said = answer.reply.items;
    if (said.empty() || said[0].integer != 0 || keys.size() > 3) return answer;  // granted, or with a token
    const std::vector<std::string_view> record(wire.renew_keys.begin(), wire.renew_keys.end());
    const std::array<std::string_view, 2> mine{args[1], args[0]};
    redis::Answer renewed = renew(*wire.renew, record, mine, options);
    if (renewed.reply.items.size() != 1 || renewed.reply.items[0].integer != 1) return answer;
    said[0].integer = 1;
    std::from_chars(args[1].data(), args[1].data() + args[1].size(), said[1].integer);
    answer.sent_at = renewed.sent_at;
    return answer;
  }
};

template <class OfStore>
decltype(LockKind::make) on() {
  return [](const LockSpaceOptions& options) {
    LockSpaceOptions with = options;
    with.lock = survivor_options(options);
    return planted_space({.wire_of = reentrant_wire,
                          .wrap = [lock = with.lock](redis::Client& client, std::unique_ptr<Store>) {
                            return std::make_unique<OfStore>(client, lock);
                          }})(with);
  };
}

}  // namespace

std::vector<PlantedVersion> planted_survivor() {
  const redis::Script *const acquire = &guarded(kReentrantAcquire), *const renew = &guarded(kReentrantRenew);
  constexpr std::string_view kQuarantine =
      "local quarantine = math.ceil(longest * (1 + drift / 1000000)) + skew + 5";
  return {
      {.name = "survivor-no-quarantine",
       .base = "survivor",
       .broken = "a server that is new in its role grants at once",
       .within = 60'000,
       .edits = {{acquire, "  if now < ends then", "  if now < 0 then"}}},
      {.name = "survivor-short-quarantine",
       .base = "survivor",
       .broken = "a quarantine lasts a quarter of the longest lease",
       .within = 60'000,
       .edits = {{acquire, kQuarantine, "local quarantine = math.ceil(longest / 4)"},
                 {renew, kQuarantine, "local quarantine = math.ceil(longest / 4)"}}},
      {.name = "survivor-knows-no-promotion",
       .base = "survivor",
       .broken = "whose mark it is that the data have makes no difference",
       .within = 60'000,
       .edits = {{acquire, "if kept_id ~= id then", "if not kept_id then"},
                 {renew, "if kept_id ~= id then", "if not kept_id then"}}},
      {.name = "survivor-repeated-acquire-in-quarantine",
       .base = "survivor",
       .broken =
           "who asks again, and whose record is there, is granted in quarantine, by old links and young",
       .within = 60'000,
       .make = on<RepeatedAcquireRenews>()},
      {.name = "survivor-any-age",
       .base = "survivor",
       .broken = "a replica that joined a moment ago counts",
       .within = 60'000,
       .make = on<AnyAge>()},
      {.name = "survivor-all-of-the-connected",
       .base = "survivor",
       .broken = "all replicas that are connected have a grant, and nobody counts how many that are",
       .within = 60'000,
       .make = on<AllConnected>()},
      {.name = "survivor-majority-of-the-connected",
       .base = "survivor",
       .broken = "a majority is one of the replicas that are connected, and not of the members",
       .within = 60'000,
       .make = on<MajorityOfConnected>()},
      {.name = "survivor-renewals-unacknowledged",
       .base = "survivor",
       .broken = "a renewal counts that no replica has",
       .within = 60'000,
       .make = on<RenewalsUnacknowledged>()},
      {.name = "survivor-no-acknowledgements",
       .base = "survivor",
       .broken = "quarantine alone: a primary that is cut off goes on granting",
       .within = 60'000,
       .make = on<NoAcknowledgements>()},
      {.name = "survivor-no-last-look",
       .base = "survivor",
       .broken = "nobody looks whether the primary has changed, or a replica has joined, while replicas "
                 "acknowledged",
       .within = 60'000,
       .make = on<NoLastLook>()},
  };
}

std::vector<PlantedVersion> survivor_controls() {
  return {{.name = "survivor-as-it-is",
           .base = "survivor",
           .broken = "nothing: the store that ships, made as the wrong ones are",
           .make = on<SurvivorStore>()}};
}

}  // namespace holdfast::sim
