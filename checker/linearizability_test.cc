// Every verdict that is known from elsewhere, and all engines against brute force.
#include "linearizability.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "checker/testing/script_history.h"
#include "draw_history.h"
#include "formats.h"
#include "linear.h"
#include "lock_pass.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

// --- histories with a known verdict (beside the project; not part of it)
// -------------------------------------

struct Known {
  const char* file;
  const char* model;
  std::int64_t initial;
  bool keyed, valid;
  std::int64_t index;  // of the violating event; -1: not told
  const char* process;
  const char* holder;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.file; }

class KnownHistory : public ::testing::TestWithParam<Known> {};

TEST_P(KnownHistory, HasItsVerdictFromEveryEngine) {
  const Known& known = GetParam();
  const auto path =
      std::filesystem::path(HOLDFAST_SOURCE_DIR).parent_path() / "shared" / "histories" / known.file;
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "not there: ../shared/histories/" << known.file;
  const ReadHistory read = read_history(file, {.file = known.file, .keyed = known.keyed});
  for (const Engine engine : {Engine::automatic, Engine::search}) {
    LinearizabilityOptions options;
    options.model = known.model;
    options.model_options.initial = known.initial;
    options.jepsen = true;
    options.engine = engine;
    const LinearizabilityResult result = check_linearizable(read.history, options);
    EXPECT_EQ(result.outcome, known.valid ? Outcome::holds : Outcome::violated) << result.reason;
    if (known.valid || result.keys.empty()) continue;
    const KeyVerdict& first = *result.first();
    if (known.index >= 0) {
      EXPECT_EQ(read.index_of(first.at), static_cast<std::uint64_t>(known.index));
      EXPECT_EQ(read.history.text(read.history.events()[first.at].process), known.process);
      ASSERT_TRUE(first.holder.has_value());
      EXPECT_EQ(read.history.text(read.history.events()[*first.holder].process), known.holder);
    }
    // The witness shows it again by itself, also after a trip through a file.
    const History part = read.history.subset(first.witness);
    EXPECT_EQ(check_linearizable(part, options).outcome, Outcome::violated) << to_jsonl(part);
    if (std::string_view(known.model) == "mutex") {
      EXPECT_LE(first.witness.size(), 8U);
    }
    std::stringstream edn;
    ReadHistory small;
    small.history = part;
    write_edn(small, edn, known.keyed);
    const ReadHistory again = read_history(edn, {.keyed = known.keyed});
    EXPECT_EQ(check_linearizable(again.history, options).outcome, Outcome::violated);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, KnownHistory,
    ::testing::Values(Known{"mutex-etcd-invalid.edn", "mutex", 0, false, false, 1119, "0", "3"},
                      Known{"mutex-1000-10-clients-valid.edn", "mutex", 0, false, true, -1, "", ""},
                      Known{"mutex-1000-10-clients-invalid.edn", "mutex", 0, false, false, 1995, "18", "2"},
                      Known{"mutex-1018-100-keys-valid.edn", "mutex", 0, true, true, -1, "", ""},
                      Known{"mutex-1018-100-keys-invalid.edn", "mutex", 0, true, false, 1904, "29", "13"},
                      Known{"mutex-507-33-unknown-valid.edn", "mutex", 0, false, true, -1, "", ""},
                      Known{"mutex-509-33-unknown-invalid.edn", "mutex", 0, false, false, 1007, "45", "36"},
                      Known{"cas-failure-invalid.edn", "cas-register", 0, false, false, -1, "", ""},
                      Known{"cas-immediate-failure-invalid.edn", "cas-register", 0, false, false, -1, "", ""},
                      Known{"cas-rethink-fail-minimal-invalid.edn", "cas-register", 0, false, false, -1, "",
                            ""},
                      Known{"cas-register-bug-valid.edn", "cas-register", 0, false, true, -1, "", ""},
                      Known{"cas-memstress3-0-valid.edn", "cas-register", 0, false, true, -1, "", ""},
                      Known{"cas-memstress3-1-valid.edn", "cas-register", 0, false, true, -1, "", ""},
                      Known{"cas-etcd-000-invalid.log", "cas-register", kAbsent, false, false, -1, "", ""},
                      Known{"cas-etcd-002-valid.log", "cas-register", kAbsent, false, true, -1, "", ""}),
    [](const auto& info) {
      std::string name = info.param.file;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

// --- brute force
// ------------------------------------------------------------------------------------------------

// Every order of every subset that leaves out only unknown operations. Nothing but the definition.
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
  bool ties = true;     // times from a handful
  bool reuse = false;   // an owner goes on after an unknown outcome
  bool tidy = true;     // mostly what a lock would do
  int values = 3;       // register: how many
  bool unique = false;  // register: each written once
};

// A few processes, each with operations one after another, some of unknown outcome (which end the process).
std::vector<Operation> draw(const Model& model, std::string_view name, const Draw& how) {
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
        if (name.starts_with("reentrant") || name == "semaphore" || name == "read-write") {
          acquire_next = *rc::gen::arbitrary<bool>();
        }
        each.shared = name == "read-write" && *rc::gen::arbitrary<bool>();
        each.permits = name == "semaphore" ? *rc::gen::inRange<std::uint32_t>(1, 3) : 1;
        if (name.find("fenced") != std::string_view::npos && each.f == Function::acquire && !each.unknown &&
            *rc::gen::inRange(0, 5) != 0) {
          each.token = each.ret + *rc::gen::inRange<std::int64_t>(0, 2);
        }
      } else {
        const int which = *rc::gen::inRange(0, name == "cas-register" ? 3 : 2);
        each.f = which == 0 ? Function::read : which == 1 ? Function::write : Function::cas;
        each.value = *rc::gen::inRange<std::int64_t>(0, how.values);
        if (how.unique && each.f == Function::write) each.value = next_value++;
        if (how.unique && each.f == Function::read) each.value = *rc::gen::inRange<std::int64_t>(0, 4);
        if (each.f == Function::cas) each.token = *rc::gen::inRange<std::int64_t>(0, how.values);
        if (each.f == Function::read) each.unknown = false;
      }
      time = each.ret;
      if (each.unknown) {
        each.ret = kForever;
        time = each.call + 1;
      }
      all.push_back(each);
      if (!each.unknown) continue;
      if (!how.reuse) break;
      process = next_process++;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Operation& a, const Operation& b) { return a.call < b.call; });
  // Positions as a file would have them.
  for (std::size_t i = 0; i < all.size(); ++i) all[i].invoked = 2 * i, all[i].completed = 2 * i + 1;
  return all;
}

std::string shown(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& each : operations) {
    text += std::string(to_string(each.f)) + " p" + std::to_string(each.process) + " o" +
            std::to_string(each.owner) + " [" + std::to_string(each.call) + "," +
            (each.unknown ? "?" : std::to_string(each.ret)) + "]" + (each.shared ? " read" : "") + " k" +
            std::to_string(each.permits) + (each.value == kAbsent ? "" : " v" + std::to_string(each.value)) +
            (each.token == kAbsent ? "" : " t" + std::to_string(each.token)) + "\n";
  }
  return text;
}

struct Tally {
  int histories = 0, by_linear = 0, violated = 0;
};

void agree(std::string_view name, const ModelOptions& options, const Draw& how, Tally& tally) {
  const auto model = find_model(name)->make(options);
  const std::vector<Operation> operations = draw(*model, name, how);
  const bool expected = brute(operations, *model);
  const SearchResult searched = search(operations, *model);
  const std::string text = std::string(name) + "\n" + shown(operations);
  if ((searched.outcome == SearchOutcome::linearizable) != expected) {
    RC_FAIL("the search says the contrary of " +
            std::string(expected ? "linearizable: " : "not linearizable: ") + text);
  }
  RC_ASSERT(searched.outcome != SearchOutcome::out_of_budget);
  ++tally.histories;
  tally.violated += expected ? 0 : 1;
  std::string why_not;
  const auto linear = check_linear(name, operations, options, why_not);
  if (!linear) return;
  ++tally.by_linear;
  if (linear->linearizable != expected) {
    RC_FAIL("linear says the contrary of " + std::string(expected ? "linearizable: " : "not linearizable: ") +
            text);
  }
  if (expected) return;
  // What it blames is a violation by itself, except where its answer is only the place.
  std::vector<Operation> part;
  for (const std::size_t at : linear->operations) part.push_back(operations[at]);
  if (name == "mutex" || name == "register" || name == "read-write") RC_ASSERT(!brute(part, *model));
}

constexpr const char* kModels[] = {
    "mutex",      "mutex-anonymous", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex",
    "read-write", "semaphore",       "register",        "cas-register"};

class Agreement : public ::testing::TestWithParam<const char*> {};

void agree_often(const char* name, int rounds) {
  Tally tally;
  const bool ok = rc::check(std::string("engines agree on ") + name, [&] {
    for (int i = 0; i < rounds; ++i) {
      ModelOptions options;
      options.initial = *rc::gen::arbitrary<bool>() ? 0 : kAbsent;
      options.permits = *rc::gen::inRange(1, 4);
      options.most_entries = *rc::gen::inRange(0, 3);
      Draw how;
      how.ties = *rc::gen::arbitrary<bool>();
      how.reuse = *rc::gen::inRange(0, 4) == 0;
      how.unique = *rc::gen::arbitrary<bool>();
      agree(name, options, how, tally);
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

TEST_P(Agreement, BruteForceSearchAndLinear) { agree_often(GetParam(), 20); }
INSTANTIATE_TEST_SUITE_P(Models, Agreement, ::testing::ValuesIn(kModels));

class LongAgreement : public ::testing::TestWithParam<const char*> {};
TEST_P(LongAgreement, BruteForceSearchAndLinear) { agree_often(GetParam(), 1000); }
INSTANTIATE_TEST_SUITE_P(LongModels, LongAgreement, ::testing::ValuesIn(kModels));

// --- by hand
// -------------------------------------------------------------------------------------------------

TEST(DrawnHistories, AreJudgedRightByEveryEngine) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const bool invalid : {false, true}) {
      const DrawnHistory drawn = draw_lock_history({.operations = 2000,
                                                    .keys = seed % 3 == 0 ? 20U : 1U,
                                                    .clients = seed % 2 == 0 ? 10U : 60U,
                                                    .unknown = seed % 4 == 0 ? 0.05 : 0.005,
                                                    .seed = seed,
                                                    .invalid = invalid});
      ASSERT_EQ(drawn.violation.has_value(), invalid);
      const auto passed = lock_pass(drawn.history, {});
      ASSERT_TRUE(passed.has_value());
      EXPECT_EQ(passed->violations.size(), invalid ? 1U : 0U);
      for (const Engine engine : {Engine::linear, Engine::search}) {
        LinearizabilityOptions options;
        options.jepsen = true;
        options.engine = engine;
        const LinearizabilityResult result = check_linearizable(drawn.history, options);
        ASSERT_EQ(result.outcome, invalid ? Outcome::violated : Outcome::holds) << "seed " << seed;
        if (!invalid) continue;
        EXPECT_EQ(result.first()->at, *drawn.violation) << "seed " << seed << " engine " << to_string(engine);
        EXPECT_LE(result.first()->witness.size(), 8U);
      }
    }
  }
}

TEST(LockPass, SaysNothingItDoesNotKnow) {
  const std::string held = "1 a invoke acquire k\n2 a ok acquire k\n";
  EXPECT_TRUE(lock_pass(history_of(held + "3 a invoke release k\n"), {}).has_value());
  for (const std::string& script : {
           std::string("1 a ok acquire k"),                                                // not invoked
           std::string("1 a invoke acquire k\n2 a info acquire k\n3 a invoke release k"),  // goes on
           std::string("1 a invoke acquire k\n2 a ok acquire k owner=o"),                  // another owner
           held + "3 a invoke release k\n4 a fail release k",                              // taken back
       }) {
    EXPECT_FALSE(lock_pass(history_of(script), {}).has_value()) << script;
  }
}

LinearizabilityResult run(const History& history, const std::string& model,
                          Engine engine = Engine::automatic) {
  LinearizabilityOptions options;
  options.model = model;
  options.engine = engine;
  return check_linearizable(history, options);
}

TEST(Linearizability, AFailedReleaseEndsTheHoldInOurHistoriesOnly) {
  const History history = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k
    3 a invoke release k
    4 a fail release k error=not-owner
    5 b invoke acquire k
    6 b ok acquire k
  )");
  EXPECT_EQ(run(history, "mutex").outcome, Outcome::holds);
  LinearizabilityOptions jepsen;
  jepsen.jepsen = true;
  const LinearizabilityResult result = check_linearizable(history, jepsen);
  EXPECT_EQ(result.outcome, Outcome::violated);
  EXPECT_EQ(describe(history, *result.first(), {}),
            "index 5: acquire of process b completes while process a holds since index 1");
  EXPECT_EQ(result.reason, "b was granted k while a held it.");
}

TEST(Linearizability, LeasedMutex) {
  const History history = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k id=x valid=10
    11 b invoke acquire k
    12 b ok acquire k id=y valid=20
    13 a invoke release k id=x
    14 a ok release k id=x
    15 c invoke acquire k
    16 c ok acquire k id=z valid=40
  )");
  for (const Engine engine : {Engine::linear, Engine::search}) {
    const LinearizabilityResult result = run(history, "leased-mutex", engine);
    ASSERT_EQ(result.outcome, Outcome::violated);
    EXPECT_EQ(result.first()->at, 7U);
    EXPECT_EQ(run(history.subset({0, 1, 2, 3, 4, 5}), "leased-mutex", engine).outcome, Outcome::holds);
  }
  EXPECT_EQ(run(history.subset({0, 1, 2, 3, 4, 5}), "mutex").outcome, Outcome::violated);
}

TEST(Linearizability, AHistoryThatNobodyCanHaveProduced) {
  EXPECT_THROW(run(history_of("1 a invoke acquire k\n2 a invoke acquire k\n"), "mutex"), HistoryError);
  EXPECT_THROW(run(history_of("1 a invoke acquire k\n2 a ok release k\n"), "mutex"), HistoryError);
  EXPECT_THROW(run(History(), "mutexx"), std::invalid_argument);
  EXPECT_EQ(run(History(), "mutex").outcome, Outcome::unknown);
}

TEST(Linearizability, ASpentBudgetIsUnknown) {
  std::string script;
  for (int i = 0; i < 14; ++i)
    script += "1 p" + std::to_string(i) + " invoke write k value=" + std::to_string(i % 7) + "\n";
  for (int i = 0; i < 14; ++i)
    script += "2 p" + std::to_string(i) + " ok write k value=" + std::to_string(i % 7) + "\n";
  script += "3 q invoke read k\n4 q ok read k value=99\n";
  LinearizabilityOptions options;
  options.model = "cas-register";
  EXPECT_EQ(check_linearizable(history_of(script), options).outcome, Outcome::violated);
  options.budget.steps = 10;
  const LinearizabilityResult result = check_linearizable(history_of(script), options);
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_NE(result.reason.find("spent its steps"), std::string::npos);
  options.budget = {.bytes = 1000};
  EXPECT_EQ(check_linearizable(history_of(script), options).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace holdfast::checker
