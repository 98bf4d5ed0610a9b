// All engines against brute force, which tries every order of every subset that leaves out only operations of
// unknown outcome. (Where a failure of the long ones takes long to shrink: RC_PARAMS=noshrink=1.)
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <set>

#include "checker/history/history_jsonl.h"
#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"
#include "checker/linearizability/linear.h"
#include "checker/linearizability/linearizability.h"
#include "checker/linearizability/search.h"

namespace holdfast::checker {
namespace {

// --- brute force ---------------------------------------------------------------------------------------

// The definition, word for word.
bool brute(const std::vector<Operation>& operations, const Model& model) {
  const std::size_t count = operations.size();
  const auto before = [&](std::size_t a, std::size_t b) {  // a must come before b
    const Operation &x = operations[a], &y = operations[b];
    if (x.unknown) return false;
    return x.ret < y.call || (x.process == y.process && a < b);
  };
  std::set<std::pair<std::uint32_t, State>> seen;
  std::vector<std::pair<std::uint32_t, State>> todo{{0, model.initial()}};
  while (!todo.empty()) {
    auto [done, state] = std::move(todo.back());
    todo.pop_back();
    bool complete = true;
    for (std::size_t i = 0; i < count; ++i)
      complete = complete && (operations[i].unknown || (done >> i & 1U) != 0);
    if (complete) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if ((done >> i & 1U) != 0) continue;
      bool free = true;
      for (std::size_t j = 0; j < count; ++j)
        free = free && (j == i || (done >> j & 1U) != 0 || !before(j, i));
      // An operation that precedes one that has happened is too late.
      for (std::size_t j = 0; j < count; ++j) free = free && ((done >> j & 1U) == 0 || !before(i, j));
      State next = state;
      if (!free || !model.step(next, operations[i])) continue;
      if (seen.insert({done | 1U << i, next}).second) todo.emplace_back(done | 1U << i, std::move(next));
    }
  }
  return false;
}

struct Draw {
  bool ties = true;     // few different times
  bool reuse = false;   // an owner goes on after an unknown outcome
  int values = 3;       // of a register
  bool unique = false;  // of a register: each value is written once
};

// Leases: each hold has an owner of its own and ends by itself, at some time after the end of its claim.
std::vector<Operation> draw_leases(bool read_write, bool semaphore) {
  std::vector<Operation> all;
  const auto holds = *rc::gen::inRange<Symbol>(1, 5);
  for (Symbol hold = 1; hold <= holds; ++hold) {
    Operation each;
    each.process = each.owner = hold;
    each.permits = semaphore ? *rc::gen::inRange<std::uint32_t>(1, 3) : 1;
    each.shared = read_write && *rc::gen::arbitrary<bool>();
    each.call = *rc::gen::inRange<std::int64_t>(0, 10);
    each.ret = each.call + *rc::gen::inRange<std::int64_t>(0, 4);
    all.push_back(each);
    if (*rc::gen::inRange(0, 8) == 0) continue;
    each.f = Function::release;
    each.unknown = true;
    each.call = each.ret + *rc::gen::inRange<std::int64_t>(0, 4);
    each.ret = kForever;
    all.push_back(each);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].invoked = 2 * i, all[i].completed = 2 * i + 1;
  return all;
}

// A few processes, each with operations one after another. An unknown outcome ends the process.
std::vector<Operation> draw(const Model& model, std::string_view name, const Draw& how) {
  if (model.leased()) return draw_leases(name.ends_with("read-write"), name == "leased-semaphore");
  const auto processes = *rc::gen::inRange<int>(1, 5);
  const auto span = *rc::gen::inRange<int>(4, 14);
  std::vector<Operation> all;
  Symbol next_process = 1;
  std::int64_t next_value = 1;
  for (int p = 0; p < processes && all.size() < 8; ++p) {
    const Symbol owner = next_process;
    Symbol process = next_process++;
    std::int64_t time = *rc::gen::inRange<std::int64_t>(0, span);
    const auto steps = *rc::gen::inRange<int>(1, 5);
    bool acquire_next = *rc::gen::inRange(0, 12) != 0;
    for (int s = 0; s < steps && all.size() < 8; ++s) {
      Operation each;
      each.process = process;
      each.owner = owner;
      each.call = time + (how.ties ? *rc::gen::inRange<std::int64_t>(0, 2) : 1);
      each.ret = each.call + *rc::gen::inRange<std::int64_t>(0, 4);
      each.unknown = *rc::gen::inRange(0, 6) == 0;
      if (model.locks()) {
        const bool stray = *rc::gen::inRange(0, 10) == 0;
        each.f = acquire_next != stray ? Function::acquire : Function::release;
        acquire_next = each.f == Function::release;
        if (name.starts_with("reentrant") || name == "semaphore" || name.ends_with("read-write")) {
          acquire_next = *rc::gen::arbitrary<bool>();
        }
        each.shared = name.ends_with("read-write") && *rc::gen::arbitrary<bool>();
        each.permits = name == "semaphore" ? *rc::gen::inRange<std::uint32_t>(1, 3) : 1;
        if (name.find("fenced") != std::string_view::npos && each.f == Function::acquire && !each.unknown &&
            *rc::gen::inRange(0, 5) != 0) {
          each.token = Value(each.ret + *rc::gen::inRange<std::int64_t>(0, 2));
        }
      } else {
        const int which = *rc::gen::inRange(0, name == "cas-register" ? 3 : 2);
        each.f = which == 0 ? Function::read : which == 1 ? Function::write : Function::cas;
        each.value = Value(*rc::gen::inRange<std::int64_t>(0, how.values));
        if (how.unique && each.f == Function::write) each.value = Value(next_value++);
        if (how.unique && each.f == Function::read) each.value = Value(*rc::gen::inRange<std::int64_t>(0, 4));
        if (each.f == Function::cas) each.token = Value(*rc::gen::inRange<std::int64_t>(0, how.values));
        if (each.f == Function::read) each.unknown = false;
      }
      time = each.ret;
      if (each.unknown) {
        each.ret = kForever;
        time = each.call + 1;
      }
      if (name == "fair" && each.f == Function::acquire) {
        const std::int64_t asked = each.call;
        if (*rc::gen::arbitrary<bool>()) each.queued = asked + *rc::gen::inRange<std::int64_t>(0, 4);
        each.failed = !each.unknown && each.queued != kAbsent && *rc::gen::inRange(0, 6) == 0;
        if (each.failed) acquire_next = true;
      }
      if (name == "semaphore" && *rc::gen::inRange(0, 10) == 0) {
        each.f = Function::resize;
        each.value = Value(*rc::gen::inRange<std::int64_t>(0, 5));
      }
      all.push_back(each);
      if (!each.unknown) continue;
      if (!how.reuse) break;
      process = next_process++;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Operation& a, const Operation& b) { return a.call < b.call; });
  if (name == "fair") all = split_queued(all);
  // Positions as in a file.
  for (std::size_t i = 0; i < all.size(); ++i) all[i].invoked = 2 * i, all[i].completed = 2 * i + 1;
  return all;
}

std::string shown(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& each : operations) {
    text += std::string(to_string(each.f)) + " p" + std::to_string(each.process) + " o" +
            std::to_string(each.owner) + " [" + std::to_string(each.call) + "," +
            (each.unknown ? "?" : std::to_string(each.ret)) + "]" + (each.shared ? " read" : "") + " k" +
            std::to_string(each.permits) +
            (each.value.empty() ? "" : " v" + std::to_string(each.value.number())) +
            (each.token.empty() ? "" : " t" + std::to_string(each.token.number())) + "\n";
  }
  return text;
}

struct Tally {
  int histories = 0, by_linear = 0, violated = 0;
};

// The engines under test. A planted defect replaces one of them.
struct Engines {
  std::function<SearchResult(const std::vector<Operation>&, const Model&)> search =
      [](const std::vector<Operation>& operations, const Model& model) {
        return checker::search(operations, model);
      };
  std::function<std::optional<LinearResult>(std::string_view, const std::vector<Operation>&,
                                            const ModelOptions&)>
      linear =
          [](std::string_view name, const std::vector<Operation>& operations, const ModelOptions& options) {
            std::string why_not;
            return check_linear(name, operations, options, why_not);
          };
};

ModelOptions draw_options() {
  ModelOptions options;
  if (*rc::gen::arbitrary<bool>()) options.initial = Value(0);
  options.permits = *rc::gen::inRange(1, 4);
  options.most_entries = *rc::gen::inRange(0, 3);
  return options;
}

Draw draw_how() {
  Draw how;
  how.ties = *rc::gen::arbitrary<bool>();
  how.reuse = *rc::gen::inRange(0, 4) == 0;
  how.unique = *rc::gen::arbitrary<bool>();
  return how;
}

// Where the engines disagree; "": nowhere.
std::string disagreement(std::string_view name, const ModelOptions& options, const Draw& how,
                         const Engines& engines, Tally& tally) {
  const auto model = find_model(name)->make(options);
  const std::vector<Operation> operations = draw(*model, name, how);
  const bool expected = brute(operations, *model);
  const std::string text = std::string(name) + (expected ? ", linearizable\n" : ", not linearizable\n") +
                           "permits " + std::to_string(options.permits) + " entries " +
                           std::to_string(options.most_entries) + "\n" + shown(operations);
  const SearchResult searched = engines.search(operations, *model);
  ++tally.histories;
  tally.violated += expected ? 0 : 1;
  if (searched.outcome == SearchOutcome::out_of_budget) return "the search has spent its budget: " + text;
  if ((searched.outcome == SearchOutcome::linearizable) != expected) return "the search is wrong: " + text;
  // Each of the two searches is right alone, and they are stuck at the same return.
  constexpr std::uint64_t kSteps = 1'000'000, kBytes = 1 << 28;
  const auto breadth = BreadthSearch(operations, *model, kBytes).advance(kSteps);
  const auto depth = DepthSearch(operations, *model, kBytes).advance(kSteps);
  for (const auto& alone : {breadth, depth}) {
    if (!alone) return "one search has spent its steps: " + text;
    if ((alone->outcome == SearchOutcome::linearizable) != expected) return "one search is wrong: " + text;
  }
  if (!expected && breadth->stuck != depth->stuck) return "the searches are stuck elsewhere: " + text;
  const auto linear = engines.linear(name, operations, options);
  if (!linear) return "";
  ++tally.by_linear;
  if (linear->linearizable != expected) return "linear is wrong: " + text;
  if (expected) return "";
  // The operations that it names are a violation by themselves, for the models where it promises so.
  std::vector<Operation> part;
  for (const std::size_t at : linear->operations) part.push_back(operations[at]);
  const bool alone = name == "mutex" || name == "register" || name.ends_with("read-write") ||
                     name == "fair" || model->leased();
  if (alone && brute(part, *model)) return "linear blames too little: " + text;
  return "";
}

constexpr const char* kModels[] = {"mutex",
                                   "mutex-anonymous",
                                   "reentrant-mutex",
                                   "fenced-mutex",
                                   "reentrant-fenced-mutex",
                                   "read-write",
                                   "reentrant-read-write",
                                   "semaphore",
                                   "fair",
                                   "leased-mutex",
                                   "reentrant-leased-mutex",
                                   "leased-read-write",
                                   "reentrant-leased-read-write",
                                   "leased-semaphore",
                                   "session-lock",
                                   "register",
                                   "cas-register"};
// What data_models_test.cc asks.
constexpr const char* kDataModels[] = {"kv",  "multi-register", "fifo-queue", "unordered-queue",
                                       "set", "counter"};

TEST(Agreement, IsAskedOfEveryModel) {
  EXPECT_EQ(std::size(kModels) + std::size(kDataModels), all_models().size());
  for (const char* name : kModels) EXPECT_NE(find_model(name), nullptr) << name;
  for (const char* name : kDataModels) EXPECT_NE(find_model(name), nullptr) << name;
}

class AgreementOf : public ::testing::TestWithParam<const char*> {};

void agree_often(const char* name, int rounds) {
  Tally tally;
  const bool ok = rc::check(std::string("engines agree on ") + name, [&] {
    for (int i = 0; i < rounds; ++i) {
      const std::string wrong = disagreement(name, draw_options(), draw_how(), {}, tally);
      if (!wrong.empty()) RC_FAIL(wrong);
    }
  });
  EXPECT_TRUE(ok);
  EXPECT_GT(tally.violated, tally.histories / 50) << "the drawn histories are too tame";
  EXPECT_LT(tally.violated, tally.histories * 49 / 50) << "the drawn histories are too wild";
  if (std::string_view(name) != "cas-register") {
    EXPECT_GT(tally.by_linear, tally.histories / 5);
  }
  ::testing::Test::RecordProperty("histories", tally.histories);
  ::testing::Test::RecordProperty("by_linear", tally.by_linear);
}

TEST_P(AgreementOf, BruteForceSearchAndLinear) { agree_often(GetParam(), 40); }
INSTANTIATE_TEST_SUITE_P(Models, AgreementOf, ::testing::ValuesIn(kModels));

class LongAgreement : public ::testing::TestWithParam<const char*> {};
TEST_P(LongAgreement, BruteForceSearchAndLinear) { agree_often(GetParam(), 1000); }
INSTANTIATE_TEST_SUITE_P(LongModels, LongAgreement, ::testing::ValuesIn(kModels));

// --- planted defects ------------------------------------------------------------------------------------

using Operations = std::vector<Operation>;

// An operation that ends when another one begins comes before it.
Operations ties_in_order(Operations operations) {
  for (Operation& each : operations) {
    each.call = 2 * each.call + 1;
    if (each.ret != kForever) each.ret = std::max(2 * each.ret, each.call);
  }
  return operations;
}
// An operation of unknown outcome never happens.
Operations without_unknown(Operations operations) {
  std::erase_if(operations, [](const Operation& each) { return each.unknown; });
  return operations;
}

class PlantedDefect : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedDefect, IsFoundByTheAgreement) {
  for (Operations (*defect)(Operations) : {ties_in_order, without_unknown}) {
    Engines bad_search, bad_linear;
    bad_search.search = [&](const Operations& operations, const Model& model) {
      return search(defect(operations), model);
    };
    bad_linear.linear = [&](std::string_view name, const Operations& operations,
                            const ModelOptions& options) {
      std::string why_not;
      auto result = check_linear(name, defect(operations), options, why_not);
      if (result) result->operations.clear();  // indices of the changed history
      return result;
    };
    const bool has_linear = std::string_view(GetParam()) != "cas-register";
    int by_search = 0, by_linear = 0;
    Tally tally;
    const auto found = [&] { return by_search > 0 && (!has_linear || by_linear > 0); };
    // Some defects show in one history of a thousand.
    rc::check([&] {
      for (int i = 0; i < 400 && (i < 30 || !found()); ++i) {
        const std::string search_wrong =
            disagreement(GetParam(), draw_options(), draw_how(), bad_search, tally);
        by_search += search_wrong.starts_with("the search is wrong") ? 1 : 0;
        const std::string linear_wrong =
            disagreement(GetParam(), draw_options(), draw_how(), bad_linear, tally);
        by_linear += linear_wrong.starts_with("linear is wrong") ? 1 : 0;
      }
    });
    EXPECT_GT(by_search, 0);
    if (has_linear) {
      EXPECT_GT(by_linear, 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Models, PlantedDefect, ::testing::ValuesIn(kModels));

// --- whole histories: extraction and the one pass ----------------------------------------------------------

// Two keys. Events are ordered by time, at equal times in any order that the processes allow.
History history_from(const std::vector<Operation>& operations, bool owners_named) {
  struct Timed {
    std::int64_t time;
    int turn;
    Event event;
  };
  std::vector<Timed> timed;
  History history;
  std::map<Symbol, std::pair<std::int64_t, int>> last;
  const Symbol keys[2] = {history.intern("k"), history.intern("l")};
  const Symbol not_owner = history.intern("not-owner");
  for (const Operation& each : operations) {
    Event event;
    event.process = history.intern("p" + std::to_string(each.process));
    if (owners_named) event.owner = history.intern("o" + std::to_string(each.owner));
    event.key = keys[each.owner % 3 == 0 ? 1 : 0];
    event.f = each.f;
    const auto add = [&](std::int64_t time, EventType type) {
      auto& [last_time, turn] = last[each.process];
      turn = (last_time == time ? turn + 1 : 0) + *rc::gen::inRange(0, 3);
      last_time = time;
      event.type = type;
      timed.push_back({time, turn, event});
    };
    add(each.call, EventType::invoke);
    if (each.unknown) {
      if (*rc::gen::arbitrary<bool>()) add(each.call + 1, EventType::info);
      continue;
    }
    if (*rc::gen::inRange(0, 10) == 0) {
      if (*rc::gen::arbitrary<bool>()) event.error = not_owner;
      add(each.ret, EventType::fail);
      continue;
    }
    if (each.f == Function::acquire) event.token = each.token;
    add(each.ret, EventType::ok);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return a.time != b.time ? a.time < b.time : a.turn < b.turn;
  });
  for (const Timed& each : timed) history.append(each.event);
  return history;
}

void histories_agree(int rounds) {
  int violated = 0, judged = 0;
  const bool ok = rc::check("verdicts of whole histories", [&] {
    for (int i = 0; i < rounds; ++i) {
      LinearizabilityOptions options;
      options.model = *rc::gen::elementOf(
          std::vector<std::string>{"mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex"});
      options.model_options = draw_options();
      options.jepsen = *rc::gen::arbitrary<bool>();
      options.shrink = false;
      const auto model = find_model(options.model)->make(options.model_options);
      const History history =
          history_from(draw(*model, options.model, draw_how()), *rc::gen::inRange(0, 3) == 0);
      bool expected = true;
      try {
        for (const KeyOperations& key : extract_operations(
                 history, {.by_position = options.jepsen, .failed_release_ends = !options.jepsen})) {
          expected = brute(key.operations, *model) && expected;
        }
      } catch (const HistoryError&) {
        continue;
      }
      ++judged;
      violated += expected ? 0 : 1;
      const std::string text = options.model + (options.jepsen ? " by position" : " by time") + " entries " +
                               std::to_string(options.model_options.most_entries) +
                               (expected ? ", linearizable\n" : ", not linearizable\n") + to_jsonl(history);
      const auto check = [&](const LinearizabilityResult& result) {
        if ((result.outcome == Outcome::violated) == expected) RC_FAIL("wrong verdict: " + text);
        if (!expected) {
          const auto again = check_linearizable(history.subset(result.first()->witness), options);
          if (again.outcome != Outcome::violated) RC_FAIL("the witness shows nothing: " + text);
        }
      };
      check(check_linearizable(history, options));
      check(check_linearizable(PackedHistory::pack(history), options));
      options.engine = Engine::search;
      if ((check_linearizable(history, options).outcome == Outcome::violated) == expected) {
        RC_FAIL("wrong verdict of the search: " + text);
      }
    }
  });
  EXPECT_TRUE(ok);
  EXPECT_GT(violated, judged / 50);
  EXPECT_LT(violated, judged * 49 / 50);
  ::testing::Test::RecordProperty("histories", judged);
}
TEST(AgreementOfHistories, OnePassSearchAndBruteForce) { histories_agree(40); }
TEST(LongAgreementOfHistories, OnePassSearchAndBruteForce) { histories_agree(1000); }

}  // namespace
}  // namespace holdfast::checker
