// Wrong versions of the survivor: the guard around its scripts with one rule less, and stores that count
// acknowledgements otherwise.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/survivor_scripts.h"
#include "lib/lock/store/survivor_store.h"
#include "lib/redis/failure.h"
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

// WAIT on a connection that wrote nothing: it counts who is connected, and has what was asked for before.
class BareWait final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    return waited(SurvivorStore::acquire(wire, keys, args, options), options);
  }
  Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                const redis::CallOptions& options) override {
    return waited(SurvivorStore::renew(script, keys, args, options), options);
  }
  std::size_t needed(Purpose, const Replicas&) const override { return 0; }
  std::size_t waits_for(Purpose) const override { return 0; }

 private:
  redis::Answer waited(redis::Answer answer, const redis::CallOptions& options) {
    if (answer.reply.items.empty() || answer.reply.items[0].integer != 1) return answer;
    const redis::Reply count =
        client_.call({"WAIT", std::to_string(majority_), "100"}, on_lane(options, redis::Lane::renewals))
            .reply;
    if (count.integer < static_cast<std::int64_t>(majority_))
      throw redis::failure(redis::Error::Kind::unavailable, answer.node, "WAIT", true, "too few replicas");
    return answer;
  }
};

class AnyServer final : public SurvivorStore {
 public:
  using SurvivorStore::SurvivorStore;
  bool is_member(std::string_view) const override { return true; }
};

// What a client takes for its options: of the store, and of the claims on what it says.
struct Taken {
  using Change = std::function<void(LockOptions& lock, const LockSpaceOptions& client)>;
  Change by_both = {}, by_claims = {};
};

template <class OfStore>
decltype(LockKind::make) on(Taken taken = {}) {
  return [taken](const LockSpaceOptions& options) {
    LockSpaceOptions with = options;
    with.lock = survivor_options(options);
    if (taken.by_both) taken.by_both(with.lock, options);
    const auto store = [lock = with.lock](redis::Client& client) {
      return std::make_unique<OfStore>(client, lock);
    };
    if (taken.by_claims) taken.by_claims(with.lock, options);
    return planted_space({.wire_of = reentrant_wire, .store = store})(with);
  };
}

// c1, c3, c5, ...
bool is_odd(const LockSpaceOptions& client) {
  return (client.client.options().client_name.back() - '0') % 2 == 1;
}

// Before each client has heard of the other's.
void longer_leases_for_some(LockOptions& lock, const LockSpaceOptions& client) {
  if (!is_odd(client)) return;
  lock.lease *= 3;
  lock.survivor->longest_lease = lock.lease;
}

// The last member has been replaced by a node that was none; some do not know yet.
void other_members_for_some(LockOptions& lock, const LockSpaceOptions& client) {
  if (is_odd(client)) return;
  std::vector<std::string>& members = lock.survivor->members;
  for (const redis::Node& node : client.client.options().nodes) {
    const std::string address = node.endpoint.to_string();
    if (std::find(members.begin(), members.end(), address) == members.end()) members.back() = address;
  }
}

void without_margin(LockOptions& lock, const LockSpaceOptions&) {
  lock.survivor->skew = Duration::zero();
  lock.survivor->drift_ppm = 0;
}

}  // namespace

std::vector<PlantedVersion> planted_survivor() {
  const redis::Script *const acquire = &guarded(kReentrantAcquire), *const renew = &guarded(kReentrantRenew);
  constexpr std::string_view kQuarantine =
      "local quarantine = math.ceil(longest * (1 + drift / 1000000)) + skew + 5";
  constexpr std::string_view kOthers = "if kept and kept ~= constants then";
  constexpr std::string_view kAnybodys = "if kept and kept == '' then";
  constexpr std::string_view kStranger = "if not constants:find(' ' .. replica .. ' ', 1, true) then";
  constexpr std::string_view kOnlyLast =
      "if purpose == 'look' and not constants:find(' ' .. replica .. ' ', 1, true) then";
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
      {.name = "survivor-bare-wait",
       .base = "survivor",
       .broken = "WAIT goes over a connection that wrote nothing, and counts who is connected",
       .within = 60'000,
       .make = on<BareWait>()},
      {.name = "survivor-claims-without-margin",
       .base = "survivor",
       .broken = "a claim lasts as long as its record, whatever the servers' clocks do",
       .within = 60'000,
       .make = on<SurvivorStore>({.by_claims = without_margin})},
      {.name = "survivor-token-expires",
       .base = "survivor",
       .broken = "the last token is kept as long as a lease, and the next one is one more",
       .within = 60'000,
       .edits = {{acquire,
                  "local time, kept = call('time'), ARGV[5] or 86400000\n"
                  "  local token = time[1] * 1000000 + time[2]",
                  "local kept, token = ARGV[2], 1"}}},
      {.name = "survivor-keeps-its-token",
       .base = "survivor",
       .broken = "who asks again, and whose record is there, keeps the token that it had",
       .within = 60'000,
       .edits = {{acquire, "if holder == owner then",
                  "if holder == owner and KEYS[4] and call('get', KEYS[4]) then\n"
                  "  call('pexpire', key, string.format('%.0f', math.max(left, lease)))\n"
                  "  return {1, math.max(left, lease), tonumber(call('get', KEYS[4]))}\n"
                  "elseif holder == owner then"}}},
      {.name = "survivor-mixed-caps",
       .base = "survivor",
       .broken = "clients have other longest leases, and nobody looks",
       .within = 60'000,
       .edits = {{acquire, kOthers, kAnybodys}, {renew, kOthers, kAnybodys}},
       .make = on<SurvivorStore>({.by_both = longer_leases_for_some})},
      {.name = "survivor-mixed-members",
       .base = "survivor",
       .broken = "one member was replaced at once, and some clients know the old one",
       .within = 60'000,
       .edits = {{acquire, kOthers, kAnybodys}, {renew, kOthers, kAnybodys}},
       .make = on<SurvivorStore>({.by_both = other_members_for_some}),
       .asks_strangers = true},
      {.name = "survivor-strangers-seen-last",
       .base = "survivor",
       .broken = "a replica that is no member stops nothing unless it is there at the last look, too",
       .escapes = "the last look stands right behind WAIT: a server answers both in one turn, in which no "
                  "replica leaves",
       .edits = {{acquire, kStranger, kOnlyLast}, {renew, kStranger, kOnlyLast}}},
      {.name = "survivor-any-server",
       .base = "survivor",
       .broken = "a server that is none of the members grants, too",
       .within = 60'000,
       .make = on<AnyServer>(),
       .asks_strangers = true},
  };
}

std::vector<PlantedVersion> survivor_controls() {
  return {{.name = "survivor-as-it-is",
           .base = "survivor",
           .broken = "nothing: the store that ships, made as the wrong ones are",
           .make = on<SurvivorStore>()}};
}

}  // namespace holdfast::sim
