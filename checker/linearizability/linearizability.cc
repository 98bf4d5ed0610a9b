#include "checker/linearizability/linearizability.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "checker/holds/wording.h"
#include "checker/linearizability/linear.h"
#include "checker/linearizability/lock_pass.h"

namespace holdfast::checker {

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::automatic: return "auto";
    case Engine::search: return "search";
    case Engine::linear: return "linear";
  }
  return "auto";
}

std::optional<Engine> parse_engine(std::string_view name) {
  for (const Engine engine : {Engine::automatic, Engine::search, Engine::linear}) {
    if (to_string(engine) == name) return engine;
  }
  return std::nullopt;
}

namespace {

class Verifier {
 public:
  Verifier(const History* history, const PackedHistory* packed, const LinearizabilityOptions& options)
      : history_(history),
        packed_(packed),
        options_(options),
        names_(history != nullptr ? history->names() : packed->names()),
        words_(names_) {
    if (options.own_model != nullptr) {
      model_ = options.own_model;
      return;
    }
    const ModelKind* kind = find_model(options.model);
    if (kind == nullptr) throw std::invalid_argument("there is no model `" + options.model + "`");
    made_ = kind->make(options.model_options);
    model_ = made_.get();
  }

  LinearizabilityResult judge() {
    // The common case: one pass over the events, without operations.
    if (options_.own_model == nullptr && options_.engine != Engine::search) {
      if (const auto rules = lock_pass_rules(options_.model, options_.model_options, options_.jepsen)) {
        const auto found = history_ != nullptr ? lock_pass(*history_, *rules) : lock_pass(*packed_, *rules);
        if (found) {
          if (auto told = told_by_pass(*found)) return std::move(*told);
        }
      }
    }
    const std::vector<KeyOperations> keys = extract({});
    LinearizabilityResult result;
    result.keys_checked = keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      result.operations += keys[i].operations.size();
      KeyVerdict verdict = judge_key(keys[i]);
      (verdict.engine == Engine::linear ? result.by_linear : result.by_search) += 1;
      if (verdict.outcome != Outcome::holds) result.keys.push_back(std::move(verdict));
      if (options_.progress) options_.progress(i + 1, keys.size());
    }
    sum_up(result);
    if (model_->leased() && result.outcome == Outcome::holds && !any_claim(keys)) {
      result.outcome = Outcome::unknown;
      result.reason = "every claim was over at its grant: there was nothing to compare";
    }
    return result;
  }

 private:
  // Whether a claim has an extent. extract_operations() makes of a hold an acquire and, by the same process,
  // the end of its claim.
  static bool any_claim(const std::vector<KeyOperations>& keys) {
    for (const KeyOperations& key : keys) {
      std::map<Symbol, std::int64_t> granted;  // by process
      for (const Operation& each : key.operations) {
        if (each.f == Function::acquire) granted[each.process] = each.ret;
        if (each.f != Function::release) continue;
        const auto grant = granted.find(each.process);
        if (grant == granted.end()) continue;
        if (each.call > grant->second) return true;
        granted.erase(grant);
      }
      if (!granted.empty()) return true;  // a claim without an end
    }
    return false;
  }

  // `part`: of which processes, and up to where.
  std::vector<KeyOperations> extract(const ExtractOptions& part) const {
    ExtractOptions options = extract_options(*model_, options_.jepsen);
    std::copy(std::begin(part.only), std::end(part.only), options.only);
    options.upto = part.upto;
    return history_ != nullptr ? extract_operations(*history_, options)
                               : extract_operations(*packed_, options);
  }
  Event event(std::size_t position) const {
    return history_ != nullptr ? history_->events()[position] : packed_->event(position);
  }

  void sum_up(LinearizabilityResult& result) const {
    std::stable_sort(result.keys.begin(), result.keys.end(), [](const KeyVerdict& a, const KeyVerdict& b) {
      const bool a_unknown = a.outcome == Outcome::unknown, b_unknown = b.outcome == Outcome::unknown;
      return a_unknown != b_unknown ? b_unknown : a.at < b.at;
    });
    if (!result.keys.empty()) {
      result.outcome = result.keys.front().outcome;
      result.reason = result.keys.front().reason;
    } else if (result.operations == 0) {
      result.outcome = Outcome::unknown;
      result.reason =
          model_->locks() ? "the history has no acquire or release" : "the history has no read, write or cas";
    } else {
      result.reason = fmt::format("{} operations on {} key{}", result.operations, result.keys_checked,
                                  result.keys_checked == 1 ? "" : "s");
    }
  }

  // Works out the verdict of each violated key from the events of the two processes alone. nullopt: those do
  // not show the violation.
  std::optional<LinearizabilityResult> told_by_pass(const LockPassResult& found) {
    LinearizabilityResult result;
    result.operations = found.operations;
    result.keys_checked = result.by_linear = found.keys;
    if (found.violations.size() > kMostPasses) return std::nullopt;
    for (const LockPassResult::Violation& each : found.violations) {
      ExtractOptions part{.upto = each.at};
      part.only[0] = each.process;
      part.only[1] = each.holder == 0 ? each.process : each.holder;
      for (const KeyOperations& key : extract(part)) {
        if (key.key != each.key) continue;
        KeyVerdict verdict = judge_key(key);
        if (verdict.outcome != Outcome::violated || verdict.at != each.at) return std::nullopt;
        result.keys.push_back(std::move(verdict));
      }
    }
    if (result.keys.size() != found.violations.size()) return std::nullopt;
    sum_up(result);
    if (options_.progress) options_.progress(found.keys, found.keys);
    return result;
  }
  static constexpr std::size_t kMostPasses = 16;  // each one reads all events again

  // What is judged by itself: the operations of a key, or a part of them.
  struct Subject {
    const Model& model;
    const std::vector<Operation>& operations;
    const std::vector<Operation>* asked = nullptr;  // before they were prepared; null: they were not
    Subject with(const std::vector<Operation>& part) const { return {model, part, asked}; }
  };

  KeyVerdict judge_key(const KeyOperations& key) {
    KeyVerdict verdict;
    verdict.key = key.key;
    const auto unknown = [&](std::string reason) {
      verdict.outcome = Outcome::unknown;
      verdict.reason = std::move(reason);
      return verdict;
    };
    if (model_->fenced() && !key.unordered.empty()) {
      return unknown(fmt::format("the token {} of {} is no number, and tokens must rise",
                                 names_.shown(key.unordered), name_of(key.key)));
    }
    for (const Operation& each : key.operations) {
      if (model_->locks() || model_->takes(each.f)) continue;
      return unknown(fmt::format("the model has no {}, and {} has one", to_string(each.f), name_of(key.key)));
    }
    std::vector<ModelPart> parts;
    try {
      parts = model_->prepare(names_, key.operations);
    } catch (const BadOperation& error) {
      verdict.at = error.position;
      return unknown(fmt::format("{} has {}", name_of(key.key), error.what()));
    }
    if (parts.empty()) return judge_part({*model_, key.operations}, key.key);
    // What was left out as it need not happen may be all.
    verdict.engine = Engine::linear;
    for (const ModelPart& part : parts) {
      KeyVerdict found = judge_part({*part.model, part.operations, &key.operations}, key.key);
      const Engine engine = verdict.engine == Engine::search ? Engine::search : found.engine;
      const bool worse = found.outcome == Outcome::violated
                             ? verdict.outcome != Outcome::violated || found.at < verdict.at
                             : found.outcome == Outcome::unknown && verdict.outcome == Outcome::holds;
      if (worse) verdict = std::move(found);
      verdict.engine = engine;
    }
    return verdict;
  }

  // nullopt: no algorithm but the search decides it.
  std::optional<LinearResult> by_linear(const Subject& subject, std::string& why_not) const {
    if (options_.own_model == nullptr && subject.asked == nullptr) {
      return check_linear(options_.model, subject.operations, options_.model_options, why_not);
    }
    return check_linear(subject.model, subject.operations, why_not);
  }

  KeyVerdict judge_part(const Subject& subject, Symbol key) {
    KeyVerdict verdict;
    verdict.key = key;
    std::string why_not;
    if (options_.engine != Engine::search) {
      if (const auto linear = by_linear(subject, why_not)) {
        verdict.engine = Engine::linear;
        if (!linear->linearizable) told_by_linear(subject, *linear, verdict);
        return verdict;
      }
    }
    verdict.engine = Engine::search;
    if (options_.engine == Engine::linear) {
      verdict.outcome = Outcome::unknown;
      verdict.reason = fmt::format("the linear engine cannot decide {}: {}", name_of(key), why_not);
      return verdict;
    }
    const SearchResult found = search(subject.operations, subject.model, options_.budget);
    if (found.outcome == SearchOutcome::out_of_budget) {
      verdict.outcome = Outcome::unknown;
      const bool interrupted = std::string_view(found.spent) == "interrupted";
      verdict.reason = fmt::format(
          "the search {} on {}, after {} configurations, {} at one time; the first {} completions have an "
          "order",
          interrupted ? "was interrupted" : "spent its " + std::string(found.spent), name_of(key),
          found.steps, found.widest, found.settled);
    } else if (found.outcome == SearchOutcome::not_linearizable) {
      told_by_search(subject, found.stuck, verdict);
    }
    return verdict;
  }

  std::string name_of(Symbol key) const { return key == 0 ? "the history" : "key " + words_.text(key); }

  void told_by_linear(const Subject& subject, const LinearResult& found, KeyVerdict& verdict) {
    const std::vector<Operation>& operations = subject.operations;
    verdict.outcome = Outcome::violated;
    verdict.kind = found.kind;
    verdict.at = position_of(operations[found.stuck]);
    if (found.holder) verdict.holder = position_of(operations[*found.holder]);
    std::vector<std::size_t> kept = found.operations;
    if (options_.shrink) {
      const auto fails = [&](const std::vector<Operation>& part) {
        if (options_.budget.stop && options_.budget.stop({}) != nullptr) return false;
        std::string ignored;
        if (const auto again = decide_linear(subject.model, part, ignored)) return *again == found.kind;
        const auto again = by_linear(subject.with(part), ignored);
        return again && !again->linearizable && again->kind == found.kind;
      };
      std::vector<Operation> part;
      for (const std::size_t at : kept) part.push_back(operations[at]);
      if (!fails(part)) {  // the algorithm named too few operations: begin with all up to the stuck one
        kept.clear();
        for (std::size_t i = 0; i < operations.size(); ++i) {
          if (operations[i].call <= operations[found.stuck].ret) kept.push_back(i);
        }
        part.assign(operations.begin(), operations.end());
        std::vector<Operation> prefix;
        for (const std::size_t at : kept) prefix.push_back(operations[at]);
        part = std::move(prefix);
      }
      if (kept.size() > 4 && fails(part)) {
        std::vector<std::size_t> fewer;
        // Every decision reads all of them.
        const std::size_t most =
            subject.asked == nullptr ? 2000 : std::max<std::size_t>(200, 500'000 / part.size());
        for (const std::size_t at : shrink(part, fails, most)) fewer.push_back(kept[at]);
        kept = std::move(fewer);
      }
    }
    keep(operations, kept, verdict);
    explain(operations, found.stuck, found.holder, verdict);
  }

  void told_by_search(const Subject& subject, std::size_t stuck, KeyVerdict& verdict) {
    const std::vector<Operation>& operations = subject.operations;
    verdict.outcome = Outcome::violated;
    verdict.kind = "no-order";
    verdict.at = position_of(operations[stuck]);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].call <= operations[stuck].ret) kept.push_back(i);
    }
    if (options_.shrink) {
      SearchBudget small = options_.budget;
      small.steps = std::min<std::uint64_t>(small.steps, 200'000);
      const std::size_t same = operations[stuck].invoked;
      // Preparing anew costs as much as a search that finds its way.
      std::uint64_t left = subject.asked == nullptr ? 4 * kShrinkSteps : kShrinkSteps;
      const auto stuck_alike = [&](const std::vector<Operation>& part, const Model& model) {
        small.steps = std::min(small.steps, left);
        if (small.steps == 0) return false;
        const SearchResult again = search(part, model, small);
        left -= std::min(left, again.steps + part.size());
        return again.outcome == SearchOutcome::not_linearizable && part[again.stuck].invoked == same;
      };
      std::map<std::size_t, const Operation*> asked;  // by invocation
      if (subject.asked != nullptr) {
        for (const Operation& each : *subject.asked) asked[each.invoked] = &each;
      }
      const auto fails = [&](const std::vector<Operation>& part) {
        if (asked.empty()) return stuck_alike(part, subject.model);
        // What a model has prepared is right for these operations only, and not for fewer.
        std::vector<Operation> anew;
        for (const Operation& each : part) anew.push_back(*asked.at(each.invoked));
        const std::vector<ModelPart> parts = model_->prepare(names_, anew);
        return std::any_of(parts.begin(), parts.end(),
                           [&](const ModelPart& each) { return stuck_alike(each.operations, *each.model); });
      };
      std::vector<Operation> part;
      for (const std::size_t at : kept) part.push_back(operations[at]);
      if (fails(part)) {
        std::vector<std::size_t> fewer;
        for (const std::size_t at :
             shrink(part, fails, std::max<std::size_t>(200, 2'000'000 / part.size()))) {
          fewer.push_back(kept[at]);
        }
        kept = std::move(fewer);
      }
    }
    std::optional<std::size_t> holder;
    if (operations[stuck].f == Function::acquire) holder = holder_before(operations, stuck);
    if (holder) verdict.holder = position_of(operations[*holder]);
    keep(operations, kept, verdict);
    explain(operations, stuck, holder, verdict);
  }

  static constexpr std::uint64_t kShrinkSteps = 500'000;  // of all searches together

  // The acquire whose hold is there when the stuck one completes: the last grant whose owner has not invoked
  // a release.
  static std::optional<std::size_t> holder_before(const std::vector<Operation>& operations,
                                                  std::size_t stuck) {
    std::map<Symbol, std::size_t> holds;  // by owner
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& each = operations[i];
      if (i == stuck || each.call > operations[stuck].ret) continue;
      if (each.f == Function::release) holds.erase(each.owner);
      if (each.f == Function::acquire && !each.unknown && each.ret <= operations[stuck].ret) {
        holds.try_emplace(each.owner, i);
      }
    }
    std::optional<std::size_t> found;
    for (const auto& [owner, at] : holds) {
      if (!found || operations[at].ret > operations[*found].ret) found = at;
    }
    return found;
  }

  static std::size_t position_of(const Operation& operation) {
    return operation.completed == kNowhere ? operation.invoked : operation.completed;
  }

  void keep(const std::vector<Operation>& operations, const std::vector<std::size_t>& kept,
            KeyVerdict& verdict) {
    for (const std::size_t at : kept) {
      verdict.witness.push_back(operations[at].invoked);
      if (operations[at].completed != kNowhere) verdict.witness.push_back(operations[at].completed);
    }
    std::sort(verdict.witness.begin(), verdict.witness.end());
    verdict.witness.erase(std::unique(verdict.witness.begin(), verdict.witness.end()), verdict.witness.end());
  }

  void explain(const std::vector<Operation>& operations, std::size_t stuck, std::optional<std::size_t> holder,
               KeyVerdict& verdict) const {
    const Operation& last = operations[stuck];
    const std::string who = owner_of(last), key = verdict.key == 0 ? "the lock" : words_.text(verdict.key);
    if (verdict.kind == "token-order") {
      verdict.reason =
          fmt::format("{} was granted {} with token {}, which is not greater than one before it.", who, key,
                      names_.shown(event(verdict.at).token));
    } else if (verdict.kind == "release-without-hold") {
      verdict.reason = fmt::format("{} released {} successfully without holding it.", who, key);
    } else if (verdict.kind == "overtaken") {
      verdict.reason = fmt::format("{} waited for {} already when {} asked for it, and was granted it later.",
                                   who, key, owner_of(operations[*holder]));
    } else if (verdict.kind == "too-many-permits") {
      verdict.reason =
          fmt::format("With the grant to {} more permits of {} are taken than there are.", who, key);
    } else if (last.f == Function::acquire && holder) {
      verdict.reason =
          fmt::format("{} was granted {} while {} held it.", who, key, owner_of(operations[*holder]));
    } else {
      std::string what(to_string(last.f));
      if (last.f == Function::cas) {
        what += " from " + value(last.token) + " to " + value(last.value);
      } else if (pairing_of(last.f) == Pairing::resource) {
        what += " of " + value(value_of(last, verdict.at));
      }
      verdict.reason = fmt::format("No order of the operations explains the {} by {}{}.", what, who,
                                   what_is_wrong(verdict.kind));
    }
  }
  // Of the violations that a model decides by itself.
  static std::string_view what_is_wrong(std::string_view kind) {
    if (kind == "dequeue-of-nothing") return ": a value was taken out that nobody had put in by then";
    if (kind == "dequeued-twice") return ": a value was put in once and taken out twice";
    if (kind == "out-of-order") return ": what was put in first did not come out first";
    if (kind == "not-empty") return ": the queue was never empty meanwhile";
    if (kind == "lost-element") return ": a read lacks what was inside before";
    if (kind == "element-twice") return ": a read has a value twice";
    if (kind == "read-of-nothing") return ": a read has what nobody had put in by then";
    return "";
  }
  // The operation may have a number in place of its value.
  Value value_of(const Operation& operation, std::size_t completion) const {
    const bool asks = operation.f == Function::read || operation.f == Function::dequeue;
    const Value told = event(completion).value;
    return told.empty() && !asks ? event(operation.invoked).value : told;
  }
  // Read from the event: the operation's own owner is only a number where the model is leased.
  std::string owner_of(const Operation& operation) const {
    const Event event = this->event(position_of(operation));
    return words_.text(event.owner != 0 ? event.owner : event.process);
  }
  std::string value(Value shown) const { return names_.shown(shown); }

  const History* history_;
  const PackedHistory* packed_;  // one of these two is null
  const LinearizabilityOptions& options_;
  const History names_;
  const Wording words_;
  std::unique_ptr<Model> made_;
  const Model* model_ = nullptr;
};

}  // namespace

LinearizabilityResult check_linearizable(const History& history, const LinearizabilityOptions& options) {
  return Verifier(&history, nullptr, options).judge();
}
LinearizabilityResult check_linearizable(const PackedHistory& history,
                                         const LinearizabilityOptions& options) {
  return Verifier(nullptr, &history, options).judge();
}

namespace {
std::string describe_events(const History& names, const KeyVerdict& verdict, const Event& at,
                            const std::optional<Event>& held, const std::vector<std::uint64_t>& index) {
  const auto number = [&](std::size_t position) {
    return index.empty() ? static_cast<std::uint64_t>(position) : index[position];
  };
  std::string text =
      fmt::format("index {}: {} of process {}", number(verdict.at), to_string(at.f), names.text(at.process));
  if (held && verdict.kind == "overtaken") {
    text += fmt::format(" completes after that of process {}, which asked later, index {}",
                        names.text(held->process), number(*verdict.holder));
  } else if (held) {
    text += fmt::format(" completes while process {} holds since index {}", names.text(held->process),
                        number(*verdict.holder));
  }
  return text;
}
}  // namespace

std::string describe(const History& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index) {
  std::optional<Event> held;
  if (verdict.holder) held = history.events()[*verdict.holder];
  return describe_events(history, verdict, history.events()[verdict.at], held, index);
}
std::string describe(const PackedHistory& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index) {
  std::optional<Event> held;
  if (verdict.holder) held = history.event(*verdict.holder);
  return describe_events(history.names(), verdict, history.event(verdict.at), held, index);
}

std::string usual_lock_model(const History& history, const LockTraits& traits) {
  const auto& events = history.events();
  const bool leased = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.f == Function::acquire && event.valid_until_ns != kAbsent;
  });
  const std::string lease = leased ? "leased-" : "";
  if (traits.counts) return lease + "semaphore";
  return (traits.reentrant ? "reentrant-" : "") + lease + (traits.shared ? "read-write" : "mutex");
}

}  // namespace holdfast::checker
