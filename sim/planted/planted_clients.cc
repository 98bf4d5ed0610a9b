// Wrong versions of what clients do: how they count a lease, what they make of an unknown outcome, and
// commands one after the other where one script belongs.
#include <charconv>
#include <chrono>

#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/quorum_store.h"
#include "lib/redis/failure.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/planted/planted.h"
#include "sim/planted/planted_store.h"

namespace holdfast::sim {
namespace {

using checker::Function;
using redis::Answer;
using redis::Arguments;
using redis::CallOptions;
using redis::Reply;

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Reply integer(std::int64_t value) {
  Reply reply;
  reply.type = Reply::Type::integer;
  reply.integer = value;
  return reply;
}

Reply list_of(std::size_t count, std::int64_t value) {
  Reply reply;
  reply.type = Reply::Type::array;
  reply.items.assign(count, integer(value));
  return reply;
}

Reply status_ok() {
  Reply reply;
  reply.type = Reply::Type::status;
  reply.text = "OK";
  return reply;
}

// --- how a lease is counted ---

class GrantCountsFromReply final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Answer acquire(const Wire& wire, Arguments keys, Arguments args, const CallOptions& options) override {
    return counted_from_now(PlantedStore::acquire(wire, keys, args, options));
  }
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    std::optional<Answer> answer = PlantedStore::set_if_absent(key, owner, lease_ms, options);
    return answer ? std::optional(counted_from_now(std::move(*answer))) : std::nullopt;
  }

 private:
  Answer counted_from_now(Answer answer) {
    answer.sent_at = runtime().now();
    return answer;
  }
};

class RenewalCountsFromReply final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Renewal renew(const redis::Script& script, Arguments keys, Arguments args,
                const CallOptions& options) override {
    Renewal answer = PlantedStore::renew(script, keys, args, options);
    answer.sent_at = runtime().now();
    return answer;
  }
};

// Asks for another lease than it counts on.
class AsksForLess : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Answer acquire(const Wire& wire, Arguments keys, Arguments args, const CallOptions& options) override {
    const std::string less = shorter(args[1]);
    std::vector<std::string_view> changed(args.begin(), args.end());
    changed[1] = less;
    return PlantedStore::acquire(wire, keys, changed, options);
  }
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    return PlantedStore::set_if_absent(key, owner, shorter(lease_ms), options);
  }
  Renewal renew(const redis::Script& script, Arguments keys, Arguments args,
                const CallOptions& options) override {
    const std::string less = shorter(args[0]);
    std::vector<std::string_view> changed(args.begin(), args.end());
    changed[0] = less;
    return PlantedStore::renew(script, keys, changed, options);
  }

 private:
  virtual std::int64_t less(std::int64_t lease_ms) const = 0;
  std::string shorter(std::string_view lease_ms) const {
    return std::to_string(std::max<std::int64_t>(1, less(number(lease_ms))));
  }
};

class MarginIgnored final : public AsksForLess {
  using AsksForLess::AsksForLess;
  std::int64_t less(std::int64_t lease_ms) const override { return lease_ms - lease_ms / 100 - 2; }
};

class LeaseInTenths final : public AsksForLess {
  using AsksForLess::AsksForLess;
  std::int64_t less(std::int64_t lease_ms) const override { return lease_ms / 100 * 100; }
};

// --- what is made of an outcome ---

class UnknownIsAGrant final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    const MonotonicTime sent_at = runtime().now();
    try {
      return PlantedStore::set_if_absent(key, owner, lease_ms, options);
    } catch (const redis::Error& error) {
      if (!error.may_have_executed()) throw;
      return Answer{status_ok(), client_.options().nodes.front().name, sent_at};
    }
  }
};

class UnknownIsARenewal final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Renewal renew(const redis::Script& script, Arguments keys, Arguments args,
                const CallOptions& options) override {
    const MonotonicTime sent_at = runtime().now();
    try {
      return PlantedStore::renew(script, keys, args, options);
    } catch (const redis::Error& error) {
      return Answer{list_of(args.size() - 1, 1), client_.options().nodes.front().name, sent_at};
    }
  }
};

class RenewalOfAMinority final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Renewal renew(const redis::Script& script, Arguments keys, Arguments args,
                const CallOptions& options) override {
    Renewal answer = PlantedStore::renew(script, keys, args, options);
    for (Reply& item : answer.reply.items) {
      if (item.is_error()) item = integer(1);
    }
    return answer;
  }
};

// One server is asked alone where no majority answers.
class OneServerIsEnough final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Answer acquire(const Wire& wire, Arguments keys, Arguments args, const CallOptions& options) override {
    try {
      return PlantedStore::acquire(wire, keys, args, options);
    } catch (const redis::Error&) {
      return client_.eval(*wire.acquire, keys, args, options);
    }
  }
};

class RefusedVotesStay final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Answer acquire(const Wire& wire, Arguments keys, Arguments args, const CallOptions& options) override {
    Wire other = wire;  // what is given back after a refusal has another name
    for (std::string& key : other.release_keys) key += ":refused";
    return PlantedStore::acquire(other, keys, args, options);
  }
};

// --- commands in the place of one script ---

class DeletesByKey : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Answer call(const redis::Script& script, Arguments keys, Arguments args,
              const CallOptions& options) override {
    if (script.sha1 != kReentrantRelease.sha1 || args.empty())
      return PlantedStore::call(script, keys, args, options);
    if (!may_delete(keys[0], args[0], options)) return {integer(0), client_.options().nodes.front().name, {}};
    return client_.call({"DEL", keys[0]}, options);
  }

 private:
  virtual bool may_delete(std::string_view, std::string_view, const CallOptions&) { return true; }
};

class LooksThenDeletes final : public DeletesByKey {
  using DeletesByKey::DeletesByKey;
  bool may_delete(std::string_view key, std::string_view owner, const CallOptions& options) override {
    return client_.call({"GET", key}, options).reply.text == owner;
  }
};

class SetThenExpire final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    Answer answer = client_.call({"SET", key, owner, "NX"}, options);
    if (answer.reply.is_nil()) return answer;
    client_.call({"PEXPIRE", key, lease_ms}, options);
    return answer;
  }
};

class LooksThenSets final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    Answer answer = client_.call({"GET", key}, options);
    if (!answer.reply.is_nil()) {
      answer.reply = {};
      return answer;
    }
    return client_.call({"SET", key, owner, "PX", lease_ms}, options);
  }
};

class ExpiresByItsOwnClock final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  std::optional<Answer> set_if_absent(std::string_view key, std::string_view owner, std::string_view lease_ms,
                                      const CallOptions& options) override {
    const auto now = std::chrono::floor<std::chrono::milliseconds>(runtime().wall_now().time_since_epoch());
    const std::string at = std::to_string(now.count() + number(lease_ms));
    return client_.call({"SET", key, owner, "NX", "PXAT", at}, options);
  }
};

class LooksThenRenews final : public PlantedStore {
 public:
  using PlantedStore::PlantedStore;
  Renewal renew(const redis::Script&, Arguments keys, Arguments args, const CallOptions& options) override {
    CallOptions lane = options;
    lane.lane = redis::Lane::renewals;
    Answer all{list_of(keys.size(), 0), client_.options().nodes.front().name, runtime().now()};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Answer looked = client_.call({"GET", keys[i]}, lane);
      all.node = looked.node;
      if (looked.reply.text != args[i + 1]) continue;
      all.reply.items[i] = client_.call({"PEXPIRE", keys[i], args[0]}, lane).reply;
    }
    return all;
  }
};

// SET of a form of its own.
std::vector<StoreEffect> grants_of_set(const Command& command, const Reply& reply) {
  if (command.size() < 4 || !is(command[0], "SET")) return {};
  return {effect(Function::store_grant, command[1], command[2], is_ok(reply))};
}

// The same, DEL, PEXPIRE. The last two name no owner.
std::vector<StoreEffect> plain_effects(const Command& command, const Reply& reply) {
  if (command.size() == 2 && is(command[0], "DEL"))
    return {effect(Function::store_remove, command[1], "", is_one(reply))};
  if (command.size() == 3 && is(command[0], "PEXPIRE"))
    return {effect(Function::store_extend, command[1], "", is_one(reply))};
  return grants_of_set(command, reply);
}

template <class Planted>
decltype(LockKind::make) on_store(PlantedLocks::WireOf wire_of) {
  return planted_space(
      {.wire_of = std::move(wire_of), .wrap = [](redis::Client& client, std::unique_ptr<Store> store) {
         return std::make_unique<Planted>(client, std::move(store));
       }});
}

}  // namespace

std::vector<PlantedVersion> planted_clients() {
  return {
      {.name = "reentrant-grant-counts-from-reply",
       .base = "reentrant",
       .broken = "a grant counts from its answer, not from its request",
       .make = on_store<GrantCountsFromReply>(reentrant_wire)},
      {.name = "reentrant-renewal-counts-from-reply",
       .base = "reentrant",
       .broken = "a renewal counts from its answer, not from its request",
       .within = 30'000,
       .make = on_store<RenewalCountsFromReply>(reentrant_wire)},
      {.name = "reentrant-margin-ignored",
       .base = "reentrant",
       .broken = "the lease on the server has no margin beyond what its holder counts on",
       .escapes = kNoDrift,
       .make = on_store<MarginIgnored>(reentrant_wire)},
      {.name = "reentrant-lease-in-tenths",
       .base = "reentrant",
       .broken = "the lease goes to the server in whole tenths of a second, rounded down",
       .make = on_store<LeaseInTenths>(reentrant_wire)},
      {.name = "reentrant-unknown-is-a-grant",
       .base = "reentrant",
       .broken = "an acquire whose reply was lost counts as granted",
       .make = on_store<UnknownIsAGrant>(reentrant_wire)},
      {.name = "reentrant-unknown-is-a-renewal",
       .base = "reentrant",
       .broken = "a renewal that failed counts as confirmed",
       .make = on_store<UnknownIsARenewal>(reentrant_wire)},
      {.name = "spin-deletes-by-key",
       .base = "spin",
       .broken = "a release is a DEL of the key",
       .make = on_store<DeletesByKey>(reentrant_wire_polling),
       .more_effects = plain_effects},
      {.name = "spin-looks-then-deletes",
       .base = "spin",
       .broken = "a release is GET, then DEL",
       .within = 30'000,
       .make = on_store<LooksThenDeletes>(reentrant_wire_polling),
       .more_effects = plain_effects},
      {.name = "spin-set-then-expire",
       .base = "spin",
       .broken = "an acquire is SET NX, then PEXPIRE",
       .within = 30'000,
       .make = on_store<SetThenExpire>(reentrant_wire_polling),
       .more_effects = grants_of_set},
      {.name = "spin-looks-then-sets",
       .base = "spin",
       .broken = "an acquire is GET, then SET",
       .make = on_store<LooksThenSets>(reentrant_wire_polling),
       .more_effects = plain_effects},
      {.name = "spin-own-clock",
       .base = "spin",
       .broken = "the client says by its own wall clock when the record ends",
       .within = 30'000,
       .make = on_store<ExpiresByItsOwnClock>(reentrant_wire_polling),
       .more_effects = plain_effects},
      {.name = "reentrant-looks-then-renews",
       .base = "reentrant",
       .broken = "a renewal is GET, then PEXPIRE",
       .make = on_store<LooksThenRenews>(reentrant_wire),
       .more_effects = plain_effects},
      {.name = "redlock-grant-counts-from-reply",
       .base = "redlock",
       .broken = "a grant counts from the last answer, not from the first request",
       .within = 30'000,
       .make = on_store<GrantCountsFromReply>(reentrant_wire_polling)},
      {.name = "redlock-renewal-counts-from-reply",
       .base = "redlock",
       .broken = "a renewal counts from the last answer, not from the first request",
       .within = 30'000,
       .make = on_store<RenewalCountsFromReply>(reentrant_wire_polling)},
      {.name = "redlock-margin-ignored",
       .base = "redlock",
       .broken = "the lease on the servers has no margin for drift beyond what its holder counts on",
       .escapes = kNoDrift,
       .make = on_store<MarginIgnored>(reentrant_wire_polling)},
      {.name = "redlock-renewal-of-a-minority",
       .base = "redlock",
       .broken = "a renewal that less than a majority confirmed counts",
       .within = 30'000,
       .make = on_store<RenewalOfAMinority>(reentrant_wire_polling)},
      {.name = "redlock-one-server-is-enough",
       .base = "redlock",
       .broken = "where no majority answers the first server decides alone",
       .make = on_store<OneServerIsEnough>(reentrant_wire_polling)},
      {.name = "redlock-refused-votes-stay",
       .base = "redlock",
       .broken = "what some servers granted is not given back when the majority refused",
       .make = on_store<RefusedVotesStay>(reentrant_wire_polling)},
  };
}

std::vector<PlantedVersion> client_controls() {
  const std::vector<ScriptEdit> blanks = {
      {&kReentrantAcquire, "local lease, in_turn", "local lease , in_turn"},
      {&kReentrantRelease, "local popped =", "local popped  ="},
      {&kReentrantRenew, "local answers =", "local answers  ="}};
  return {
      {.name = "reentrant-as-it-is",
       .base = "reentrant",
       .broken = "nothing: blanks in its scripts",
       .edits = blanks},
      {.name = "redlock-as-it-is",
       .base = "redlock",
       .broken = "nothing: blanks in its scripts",
       .edits = blanks},
      {.name = "reentrant-on-planted-store",
       .base = "reentrant",
       .broken = "nothing: a store before its own",
       .make = on_store<PlantedStore>(reentrant_wire)},
      {.name = "spin-on-planted-store",
       .base = "spin",
       .broken = "nothing: a store before its own",
       .make = on_store<PlantedStore>(reentrant_wire_polling)},
      {.name = "redlock-on-planted-store",
       .base = "redlock",
       .broken = "nothing: a store before its own",
       .make = on_store<PlantedStore>(reentrant_wire_polling)},
  };
}

}  // namespace holdfast::sim
