// A hold lasts from the completion of its acquire to the invocation of its release. The outcome of a release
// is not known at its invocation, so the release frees the key at once, and its completion is compared with
// what it did. Only a failed release of a holder would have to be taken back; there the pass gives up.
//
// By time, the order of the file is one of the possible orders, as long as times do not go back. So "holds"
// is right. A violation may belong to that order only. It counts only if its event has a time of its own and
// processes are the owners.
#include "checker/linearizability/lock_pass.h"

#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr Symbol kRetired = 0xFFFFFFFFU;  // `busy` of an owner after an unknown outcome

enum class OpenCall : std::uint8_t {
  nothing,
  acquiring,
  released_held,
  released_nothing,
  released_ignored,
  retired
};

template <bool Reentrant, bool Fenced>
class Pass {
 public:
  Pass(const History& names, const LockPassRules& rules)
      : rules_(rules), keys_(names.symbols()), callers_(names.symbols()) {}

  // Takes the next event. False: the pass gives up.
  bool take(std::size_t position, std::int64_t time_ns, EventType type, Function f, Symbol process,
            Symbol key_symbol, Symbol owner, Symbol id, Value token) {
    if (!rules_.by_position) {
      if (time_ns < last_time_) return false;
      if (time_ns == last_time_ && last_violated_ && !HOLDFAST_PLANTED(pass_trusts_ties)) return false;
      lonely_ = time_ns != last_time_ || position == 0;
      last_violated_ = false;
      last_time_ = time_ns;
    }
    if (f > Function::release)
      return HOLDFAST_PLANTED(pass_overlooks_ends) ||
             (f != Function::lost && f != Function::crash);  // they end holds
    if (process == 0) return false;
    Caller& mine = callers_[process];
    if (type == EventType::invoke) {
      if (owner == 0) owner = process;
      if (mine.open != OpenCall::nothing || owner == kRetired) return false;
      Caller& as = callers_[owner];
      if (as.busy != 0) return false;
      as.busy = process;
      mine.owner = owner;
      owners_apart_ = owners_apart_ || owner != process;
      mine.key = key_symbol;
      mine.id = id;
      Key& key = keys_[key_symbol];
      result_.keys += key.operations == 0 ? 1 : 0;
      ++key.operations;
      ++result_.operations;
      if (f == Function::acquire) {
        mine.open = OpenCall::acquiring;
      } else {
        if (key.holder == owner && !may_be(key.id, id)) return false;  // foreign: operations.cc knows
        if (key.holder == owner && id == 0) mine.id = key.id;
        mine.open = release(key, owner);
      }
      return true;
    }
    if (mine.open == OpenCall::nothing || mine.open == OpenCall::retired) return false;
    if ((mine.open == OpenCall::acquiring) != (f == Function::acquire)) return false;
    if (owner != 0 && owner != mine.owner) return false;
    if (key_symbol != 0 && key_symbol != mine.key) return false;
    if (f == Function::release && !may_be(mine.id, id)) return false;
    Key& key = keys_[mine.key];
    Symbol& busy = callers_[mine.owner].busy;
    busy = 0;
    switch (type) {
      case EventType::ok:
        if (mine.open == OpenCall::acquiring) {
          if (id == 0) id = mine.id;
          if (key.holder == mine.owner && !may_be(key.id, id)) return false;
          if (!grant(position, process, mine, key, token)) return false;
          key.id = id;
        } else if (mine.open == OpenCall::released_nothing) {
          if (!violated(position, process, 0, mine, key)) return false;
        }
        break;
      case EventType::fail: {
        if (rules_.failed_release_ends && f == Function::release) {
          // Of several entries it may have ended all.
          if (!HOLDFAST_PLANTED(pass_takes_one_entry_for_all) && Reentrant &&
              mine.open == OpenCall::released_held && key.holder == mine.owner)
            return false;
          break;
        }
        if (mine.open == OpenCall::released_held) return false;
        if (mine.open != OpenCall::acquiring && key.dead) return false;
        --key.operations;
        --result_.operations;
        if (key.operations == 0) --result_.keys;
        break;
      }
      default:
        busy = kRetired;
        mine.open = OpenCall::retired;
        return true;
    }
    mine.open = OpenCall::nothing;
    return true;
  }

  std::optional<LockPassResult> finish() { return std::move(result_); }

 private:
  static bool may_be(Symbol a, Symbol b) { return a == 0 || b == 0 || a == b; }
  struct Plain {
    Symbol holder = 0;
    Symbol id = 0;  // of its acquisition; 0: any
    std::uint32_t operations = 0;
    bool dead = false;  // violated; the rest of its events is skipped
  };
  struct Deep : Plain {
    std::int32_t depth = 0;
    Symbol greatest_of = 0;
    Value greatest, present;  // tokens: of all grants, of the present hold
  };
  using Key = std::conditional_t<Reentrant || Fenced, Deep, Plain>;
  struct Caller {                       // by symbol, of processes and owners
    Symbol key = 0, owner = 0, id = 0;  // of the process' open operation
    Symbol busy = 0;                    // of an owner: its process with an open operation, or kRetired
    OpenCall open = OpenCall::nothing;
  };

  OpenCall release(Key& key, Symbol owner) {
    if (key.dead) return OpenCall::released_ignored;
    if (key.holder != owner && !(HOLDFAST_PLANTED(pass_lets_anyone_release) && key.holder != 0))
      return OpenCall::released_nothing;
    if constexpr (Reentrant) {
      if (--key.depth > 0 && !HOLDFAST_PLANTED(pass_counts_no_entries)) return OpenCall::released_held;
    }
    key.holder = 0;
    return OpenCall::released_held;
  }

  bool grant(std::size_t position, Symbol process, const Caller& mine, Key& key, Value token) {
    if (key.dead) return true;
    if (key.holder != 0 && (!Reentrant || key.holder != mine.owner)) {
      return violated(position, process, key.holder, mine, key);
    }
    if constexpr (Reentrant || Fenced) {
      if (!tokens_and_depth(position, process, mine, key, token)) return false;
      if (key.dead) return true;
    }
    key.holder = mine.owner;
    return true;
  }

  bool tokens_and_depth(std::size_t position, Symbol process, const Caller& mine, Key& key, Value token) {
    if (key.holder != 0) {
      if (rules_.most_entries > 0 && key.depth >= rules_.most_entries) {
        return violated(position, process, process, mine, key);
      }
      if constexpr (Fenced) {
        if (!token.empty() && !key.present.empty()) {
          if (token != key.present) return violated(position, process, process, mine, key);
          token = {};
        }
      }
    } else {
      key.present = {};
    }
    if constexpr (Fenced) {
      if (!token.empty()) {
        if (!token.is_number()) return false;  // the joined operations rank it
        if (!key.greatest.empty() &&
            (token < key.greatest || (token == key.greatest && !HOLDFAST_PLANTED(pass_takes_equal_tokens)))) {
          return violated(position, process, key.greatest_of, mine, key);
        }
        key.greatest = key.present = token;
        key.greatest_of = mine.owner;
      }
    }
    key.depth = key.holder == 0 ? 1 : key.depth + 1;
    return true;
  }

  bool violated(std::size_t position, Symbol process, Symbol holder, const Caller& mine, Key& key) {
    // With other owners than processes, and at equal times, another order may have no violation.
    if (owners_apart_) return false;
    if (!rules_.by_position && !lonely_) return false;
    last_violated_ = true;
    key.dead = true;
    result_.violations.push_back({.key = mine.key, .at = position, .process = process, .holder = holder});
    return true;
  }

  const LockPassRules rules_;
  std::vector<Key> keys_;
  std::vector<Caller> callers_;
  std::int64_t last_time_ = std::numeric_limits<std::int64_t>::min();
  bool lonely_ = true, last_violated_ = false, owners_apart_ = false;
  LockPassResult result_;
};

template <bool Reentrant, bool Fenced>
std::optional<LockPassResult> run(const History& history, const LockPassRules& rules) {
  Pass<Reentrant, Fenced> pass(history, rules);
  const std::vector<Event>& events = history.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (!pass.take(i, event.time_ns, event.type, event.f, event.process, event.key, event.owner, event.id,
                   event.token)) {
      return std::nullopt;
    }
  }
  return pass.finish();
}

template <bool Reentrant, bool Fenced>
std::optional<LockPassResult> run(const PackedHistory& history, const LockPassRules& rules) {
  Pass<Reentrant, Fenced> pass(history.names(), rules);
  bool going = true;
  history.for_each(
      [&](std::size_t i, const PackedHistory::Fixed& core) {
        going = going &&
                pass.take(i, core.time_ns, core.type(), core.f(), core.process(), core.key, 0, 0, Value{});
      },
      [&](std::size_t i, const PackedHistory::Fixed&, const Event& event) {
        going = going && pass.take(i, event.time_ns, event.type, event.f, event.process, event.key,
                                   event.owner, event.id, event.token);
      });
  if (!going) return std::nullopt;
  return pass.finish();
}

template <typename Any>
std::optional<LockPassResult> dispatch(const Any& history, const LockPassRules& rules) {
  if (rules.reentrant)
    return rules.fenced ? run<true, true>(history, rules) : run<true, false>(history, rules);
  return rules.fenced ? run<false, true>(history, rules) : run<false, false>(history, rules);
}

}  // namespace

std::optional<LockPassRules> lock_pass_rules(std::string_view model, const ModelOptions& options,
                                             bool jepsen) {
  LockPassRules rules{.by_position = jepsen, .failed_release_ends = !jepsen};
  if (model == "mutex") return rules;
  rules.fenced = model == "fenced-mutex" || model == "reentrant-fenced-mutex";
  rules.reentrant = model == "reentrant-mutex" || model == "reentrant-fenced-mutex";
  if (!rules.fenced && !rules.reentrant) return std::nullopt;
  if (rules.reentrant) rules.most_entries = options.most_entries;
  return rules;
}

std::optional<LockPassResult> lock_pass(const History& history, const LockPassRules& rules) {
  return dispatch(history, rules);
}
std::optional<LockPassResult> lock_pass(const PackedHistory& history, const LockPassRules& rules) {
  return dispatch(history, rules);
}

}  // namespace holdfast::checker
