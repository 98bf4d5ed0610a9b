// The models of data structures, from a file's text to the verdict, against brute force over a definition of
// each that shares nothing with the model: a drawn object answers, and some answers are then changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"
#include "checker/testing/draw_data.h"
#include "checker/testing/random.h"

namespace holdfast::checker {
namespace {

using testing::Random;

// --- the definitions -----------------------------------------------------------------------------------

// What any of the objects may be: a text, three registers, a list of values, a number.
struct Object {
  std::string text;
  std::array<int, 3> registers{};  // 0: nil
  std::vector<int> inside;
  int sum = 0;
  auto operator<=>(const Object&) const = default;
};

struct Access {
  bool writes = false;
  int item = 0, value = 0;
};

struct Call {
  Function f = Function::read;
  int process = 0;
  std::string put, told;       // kv: what is put in, what was read
  int value = 0, answer = 0;   // of queue, set, counter: likewise; a dequeue of 0 found nothing
  std::vector<int> list;       // what was read of a set
  std::vector<Access> access;  // of several registers
  int call = 0, ret = 0;
  bool unknown = false;
};

// The states after a call; none: it is not legal. Of an unknown outcome any answer will do.
std::vector<Object> after(const std::string& model, const Object& object, const Call& call) {
  Object next = object;
  if (model == "kv") {
    if (call.f == Function::read && !call.unknown && call.told != object.text) return {};
    if (call.f == Function::write) next.text = call.put;
    if (call.f == Function::append) next.text += call.put;
  } else if (model == "multi-register") {
    for (const Access& each : call.access) {
      int& item = next.registers[static_cast<std::size_t>(each.item)];
      if (!each.writes && !call.unknown && item != each.value) return {};
      if (each.writes) item = each.value;
    }
  } else if (model == "counter") {
    if (call.f == Function::add) next.sum += call.value;
    if (call.f == Function::read && !call.unknown && call.answer != object.sum) return {};
  } else if (model == "set") {
    auto& inside = next.inside;
    if (call.f == Function::add && std::find(inside.begin(), inside.end(), call.value) == inside.end()) {
      inside.insert(std::upper_bound(inside.begin(), inside.end(), call.value), call.value);
    }
    if (call.f == Function::read && !call.unknown && call.list != inside) return {};
  } else {
    auto& inside = next.inside;
    if (call.f == Function::enqueue) {
      inside.push_back(call.value);
      if (model == "unordered-queue") std::sort(inside.begin(), inside.end());
    } else if (!call.unknown && call.answer == 0) {
      if (!inside.empty()) return {};
    } else {
      // Any that fits; of a queue in order the first.
      std::vector<Object> all;
      for (std::size_t i = 0; i < inside.size() && (i == 0 || model == "unordered-queue"); ++i) {
        if (!call.unknown && inside[i] != call.answer) continue;
        all.push_back(next);
        all.back().inside.erase(all.back().inside.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return all;
    }
  }
  return {next};
}

void give_answer(const std::string& model, const Object& object, Random& random, Call& call) {
  if (call.f == Function::read) {
    call.told = object.text;
    call.answer = object.sum;
    call.list = object.inside;
  }
  std::array<int, 3> registers = object.registers;
  for (Access& each : call.access) {
    int& item = registers[static_cast<std::size_t>(each.item)];
    (each.writes ? item : each.value) = each.writes ? each.value : item;
  }
  if (call.f != Function::dequeue || object.inside.empty()) return;
  const std::uint64_t which = model == "fifo-queue" ? 0 : random.next() % object.inside.size();
  call.answer = object.inside[static_cast<std::size_t>(which)];
}

// --- brute force -----------------------------------------------------------------------------------------

bool has_order(const std::string& model, const std::vector<Call>& calls) {
  const auto before = [&](std::size_t a, std::size_t b) {
    if (calls[a].unknown) return false;
    return calls[a].ret < calls[b].call || (calls[a].process == calls[b].process && a < b);
  };
  std::set<std::pair<unsigned, Object>> seen;
  std::vector<std::pair<unsigned, Object>> todo{{0U, Object()}};
  while (!todo.empty()) {
    const auto [done, object] = todo.back();
    todo.pop_back();
    bool complete = true;
    for (std::size_t i = 0; i < calls.size(); ++i)
      complete = complete && (calls[i].unknown || (done >> i & 1U) != 0);
    if (complete) return true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      bool free = (done >> i & 1U) == 0;
      for (std::size_t j = 0; j < calls.size() && free; ++j) {
        free = (done >> j & 1U) != 0 ? !before(i, j) : i == j || !before(j, i);
      }
      if (!free) continue;
      for (const Object& next : after(model, object, calls[i])) {
        if (seen.insert({done | 1U << i, next}).second) todo.emplace_back(done | 1U << i, next);
      }
    }
  }
  return false;
}

// --- drawing ---------------------------------------------------------------------------------------------

void draw_request(const std::string& model, Random& random, int number, bool repeats, Call& call) {
  call.value = repeats ? static_cast<int>(random.between(1, 3)) : number + 1;
  if (model == "kv") {
    const auto which = random.between(0, 3);
    call.f = which == 0 ? Function::write : which == 1 ? Function::append : Function::read;
    call.put = which > 1 ? "" : random.chance(0.3) ? "" : std::string(1, static_cast<char>('a' + number % 3));
  } else if (model == "multi-register") {
    call.f = Function::txn;
    for (auto left = random.between(0, 3); left > 0; --left) {
      call.access.push_back({.writes = random.chance(0.5),
                             .item = static_cast<int>(random.between(0, 2)),
                             .value = static_cast<int>(random.between(1, 3))});
    }
  } else if (model == "set" || model == "counter") {
    call.f = random.chance(0.5) ? Function::read : Function::add;
    if (model == "counter") call.value = static_cast<int>(random.between(repeats ? -2 : 1, repeats ? 2 : 1));
  } else {
    call.f = random.chance(0.5) ? Function::enqueue : Function::dequeue;
  }
}

void change_answer(Random& random, Call& call) {
  call.told.clear();
  for (auto left = random.between(0, 3); left > 0; --left)
    call.told += static_cast<char>('a' + random.between(0, 2));
  call.answer = static_cast<int>(random.between(0, 6));
  for (Access& each : call.access) {
    if (!each.writes) each.value = static_cast<int>(random.between(0, 3));
  }
  if (!call.list.empty() && random.chance(0.5)) {
    call.list.erase(call.list.begin() + random.between(0, static_cast<int>(call.list.size()) - 1));
  } else {
    call.list.push_back(static_cast<int>(random.between(1, 8)));
    std::sort(call.list.begin(), call.list.end());
  }
}

// Up to eight calls of up to four processes.
std::vector<Call> draw(const std::string& model, Random& random) {
  const auto processes = random.between(1, 4);
  const std::int64_t span = random.between(4, 14), gap = random.between(0, 2);
  const bool repeats = random.chance(0.3);
  std::vector<Call> calls;
  std::vector<std::pair<std::int64_t, std::size_t>> moments;  // at which it takes effect
  for (int process = 0; process < processes; ++process) {
    std::int64_t time = random.between(0, span), moment = 0;
    for (auto left = random.between(1, 4); left > 0 && calls.size() < 8; --left) {
      Call call;
      call.process = process;
      draw_request(model, random, static_cast<int>(calls.size()), repeats, call);
      call.call = static_cast<int>(time + random.between(0, gap));
      call.ret = static_cast<int>(call.call + random.between(0, 4));
      call.unknown = random.chance(0.12);
      time = call.ret;
      moment = std::max<std::int64_t>(moment, random.between(call.call, call.ret + (call.unknown ? 5 : 0)));
      if (!call.unknown || random.chance(0.5)) moments.emplace_back(moment, calls.size());
      calls.push_back(call);
      if (call.unknown) break;
    }
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Object object;
  for (const auto& [moment, at] : moments) {
    Call& call = calls[at];
    if (!call.unknown) give_answer(model, object, random, call);
    const std::vector<Object> next = after(model, object, call);
    if (!next.empty()) object = next[static_cast<std::size_t>(random.next() % next.size())];
  }
  if (random.chance(0.6)) {
    change_answer(random, calls[static_cast<std::size_t>(random.next() % calls.size())]);
  }
  return calls;
}

// --- the text ----------------------------------------------------------------------------------------------

std::string value_text(const std::string& model, const Call& call, bool completion, bool edn,
                       Random& random) {
  const std::string nothing = edn ? "nil" : "null";
  const auto listed = [&](const std::vector<std::string>& items, bool set) {
    std::string text = edn && set ? "#{" : "[";
    for (const std::string& each : items)
      text += (text.back() == '{' || text.back() == '[' ? "" : edn ? " " : ", ") + each;
    return text + (edn && set ? "}" : "]");
  };
  if (call.f == Function::txn) {
    std::vector<std::string> items;
    for (const Access& each : call.access) {
      const bool says = each.writes || (completion && each.value != 0);
      const std::string f = each.writes ? "w" : "r", item = "\"x" + std::to_string(each.item) + '"';
      items.push_back(
          listed({edn ? ":" + f : '"' + f + '"', item, says ? std::to_string(each.value) : nothing}, false));
    }
    return listed(items, false);
  }
  if (call.f == Function::dequeue) {
    return completion && call.answer != 0 ? std::to_string(call.answer) : nothing;
  }
  if (call.f == Function::read && !completion) return nothing;
  if (model == "kv") return '"' + (call.f == Function::read ? call.told : call.put) + '"';
  if (call.f == Function::read && model == "set") {
    std::vector<std::string> items;
    for (const int each : call.list) items.push_back(std::to_string(each));
    const bool twice = std::adjacent_find(items.begin(), items.end()) != items.end();
    return listed(items, !twice && random.chance(0.5));
  }
  return std::to_string(call.f == Function::read ? call.answer : call.value);
}

// Writes the history, and puts what rules there in place of the times of `calls`.
std::string written(const std::string& model, std::vector<Call>& calls, bool edn, Random& random) {
  struct Line {
    std::int64_t time;
    std::size_t order, call;
    bool completes;
  };
  std::vector<Line> lines;
  std::map<int, std::size_t> last;  // by process
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::size_t& order = last[calls[i].process];
    lines.push_back({calls[i].call, ++order, i, false});
    if (!calls[i].unknown || random.chance(0.5)) lines.push_back({calls[i].ret, ++order, i, true});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  });
  std::ostringstream text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Call& call = calls[lines[i].call];
    const std::string type = !lines[i].completes ? "invoke" : call.unknown ? "info" : "ok";
    const std::string value = value_text(model, call, type == "ok", edn, random);
    if (edn) {
      (lines[i].completes ? call.ret : call.call) = static_cast<int>(i);
      text << "{:process " << call.process << ", :type :" << type << ", :f :" << to_string(call.f)
           << ", :value " << value << "}\n";
    } else {
      text << R"({"process":)" << call.process << R"(,"type":")" << type << R"(","f":")" << to_string(call.f)
           << R"(","value":)" << value << R"(,"time":)" << lines[i].time << "}\n";
    }
  }
  return text.str();
}

ReadHistory read_text(const std::string& text, bool edn) {
  std::istringstream in(text);
  return read_history(in, {.format = edn ? Format::jepsen_edn : Format::jsonl});
}

void agree(const std::string& model, int histories) {
  int violated = 0, by_linear = 0;
  for (int seed = 1; seed <= histories; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const bool edn = random.chance(0.5);
    std::vector<Call> calls = draw(model, random);
    const std::string text = written(model, calls, edn, random);
    const bool expected = has_order(model, calls);
    violated += expected ? 0 : 1;
    const ReadHistory read = read_text(text, edn);
    for (const Engine engine : {Engine::automatic, Engine::search, Engine::linear}) {
      const LinearizabilityOptions options{.model = model, .engine = engine, .jepsen = edn};
      const LinearizabilityResult found = check_linearizable(read.history, options);
      // Nothing is left of a history whose only operations are reads of unknown outcome.
      if (found.outcome == Outcome::unknown && (engine == Engine::linear || found.operations == 0)) continue;
      by_linear += engine == Engine::linear ? 1 : 0;
      ASSERT_EQ(found.outcome, expected ? Outcome::holds : Outcome::violated)
          << model << ", " << to_string(engine) << ", seed " << seed << ": " << found.reason << "\n"
          << text;
      if (expected) continue;
      // Of what is left the linear engine may be unsure.
      const LinearizabilityOptions any{.model = model, .jepsen = edn};
      EXPECT_EQ(check_linearizable(read.history.subset(found.first()->witness), any).outcome,
                Outcome::violated)
          << model << ", seed " << seed << ": the witness shows nothing\n"
          << text;
    }
  }
  EXPECT_GT(violated, histories / 10) << model;
  EXPECT_LT(violated, histories * 9 / 10) << model;
  ::testing::Test::RecordProperty("by_linear", by_linear);
}

constexpr const char* kModels[] = {"kv", "multi-register", "fifo-queue", "unordered-queue", "set", "counter"};

class DataModel : public ::testing::TestWithParam<const char*> {};
TEST_P(DataModel, AgreesWithItsDefinition) { agree(GetParam(), 2000); }
INSTANTIATE_TEST_SUITE_P(Models, DataModel, ::testing::ValuesIn(kModels));
class LongDataModel : public ::testing::TestWithParam<const char*> {};
TEST_P(LongDataModel, AgreesWithItsDefinition) { agree(GetParam(), 100'000); }
INSTANTIATE_TEST_SUITE_P(LongModels, LongDataModel, ::testing::ValuesIn(kModels));

// --- as large as real ones ----------------------------------------------------------------------------

// Thousands of operations of ten clients, some of unknown outcome. What is looked at is counted, not timed.
TEST_P(DataModel, IsJudgedAtTheSizeOfRealHistories) {
  for (const std::uint64_t operations : {500U, 3000U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      for (const bool invalid : {false, true}) {
        const History history = draw_data_history(
            {.model = GetParam(), .operations = operations, .seed = seed, .invalid = invalid});
        const LinearizabilityResult found = check_linearizable(
            history, {.model = GetParam(), .jepsen = true, .budget = {.steps = 3'000'000}});
        EXPECT_EQ(found.outcome, invalid ? Outcome::violated : Outcome::holds)
            << operations << " operations, seed " << seed << ": " << found.reason;
      }
    }
  }
}

// --- by hand -----------------------------------------------------------------------------------------------

Outcome judged(const std::string& model, const std::string& text) {
  const bool edn = text.find(":type") != std::string::npos;
  return check_linearizable(read_text(text, edn).history, {.model = model, .jepsen = edn}).outcome;
}
std::string line(int process, const std::string& type, const std::string& f, const std::string& value) {
  return "{:process " + std::to_string(process) + ", :type :" + type + ", :f :" + f + ", :value " + value +
         "}\n";
}
std::string whole(int process, const std::string& f, const std::string& asked, const std::string& told) {
  return line(process, "invoke", f, asked) + line(process, "ok", f, told);
}

// An absent key reads as the empty text, and keys have nothing to do with each other.
TEST(Kv, ReadsWhatWasPutAndAppended) {
  const auto event = [](int process, const char* type, const char* f, const char* key, const char* value) {
    return "{:process " + std::to_string(process) + ", :type :" + type + ", :f :" + f + ", :key \"" + key +
           "\", :value " + value + "}\n";
  };
  const std::string both =
      event(0, "invoke", "append", "a", "\"x\"") + event(0, "ok", "append", "a", "\"x\"") +
      event(0, "invoke", "append", "a", "\"y\"") + event(0, "ok", "append", "a", "\"y\"");
  const auto get = [&](const char* key, const char* value) {
    return judged("kv", both + event(1, "invoke", "get", key, "nil") + event(1, "ok", "get", key, value));
  };
  EXPECT_EQ(get("a", "\"xy\""), Outcome::holds);
  EXPECT_EQ(get("a", "\"yx\""), Outcome::violated);
  EXPECT_EQ(get("a", "\"x\""), Outcome::violated);
  EXPECT_EQ(get("b", "\"\""), Outcome::holds);
  EXPECT_EQ(get("b", "nil"), Outcome::holds);
  EXPECT_EQ(get("b", "\"xy\""), Outcome::violated);
  EXPECT_EQ(get("a", ":xy"), Outcome::violated) << "a keyword is no text";
  EXPECT_EQ(judged("kv", both + event(1, "invoke", "append", "a", "7") + event(1, "ok", "append", "a", "7")),
            Outcome::unknown);
  EXPECT_EQ(
      judged("kv", both + event(1, "invoke", "cas", "a", "[1 2]") + event(1, "ok", "cas", "a", "[1 2]")),
      Outcome::unknown)
      << "a function that the model lacks hides nothing";
}

// A process that Jepsen calls crashed has lost its session: another client may be granted its lock.
TEST(SessionLock, EndsWithItsOwnersCrash) {
  const std::string held = whole(0, "acquire", "nil", "nil");
  const std::string next = whole(1, "acquire", "nil", "nil");
  for (const std::string f : {"write", "release", "crash"}) {
    const std::string asks = f == "crash" ? "" : line(0, "invoke", f, "nil");
    const std::string over = held + asks + line(0, "info", f, "nil") + next;
    EXPECT_EQ(judged("session-lock", over), Outcome::holds) << f;
    // Where holds last until they are released, a write of unknown outcome ends none.
    EXPECT_EQ(judged("mutex", over), f == "write" ? Outcome::violated : Outcome::holds) << f;
  }
  EXPECT_EQ(judged("session-lock", held + next), Outcome::violated);
  EXPECT_EQ(
      judged("session-lock", held + line(2, "invoke", "write", "1") + line(2, "info", "write", "1") + next),
      Outcome::violated)
      << "another client's crash";
  EXPECT_EQ(
      judged("session-lock", held + line(0, "invoke", "write", "1") + next + line(0, "info", "write", "1")),
      Outcome::violated)
      << "before the crash";
  // JSON lines: a client goes on after `info`; `crash` says that it died.
  const std::string json = R"({"process":"a/0","type":"invoke","f":"acquire","time":1}
{"process":"a/0","type":"ok","f":"acquire","time":2}
{"process":"a/0","type":"invoke","f":"write","value":1,"time":3}
{"process":"a/0","type":"info","f":"write","value":1,"time":4}
)",
                    granted = R"({"process":"b/0","type":"invoke","f":"acquire","time":6}
{"process":"b/0","type":"ok","f":"acquire","time":7}
)";
  EXPECT_EQ(judged("session-lock", json + granted), Outcome::violated);
  EXPECT_EQ(judged("session-lock",
                   json + "{\"process\":\"a\",\"type\":\"info\",\"f\":\"crash\",\"time\":5}\n" + granted),
            Outcome::holds);
}

// The witness of a violation after a crash on another key can be judged again.
TEST(SessionLock, AWitnessHasTheInvocationOfTheCrash) {
  const auto keyed = [](int process, const char* type, const char* f, const char* key) {
    return "{:process " + std::to_string(process) + ", :type :" + type + ", :f :" + f + ", :key \"" + key +
           "\"}\n";
  };
  std::string text = keyed(0, "invoke", "acquire", "a") + keyed(0, "ok", "acquire", "a") +
                     keyed(0, "invoke", "acquire", "b") + keyed(0, "info", "acquire", "b");
  for (const int process : {1, 2}) {
    text += keyed(process, "invoke", "acquire", "a") + keyed(process, "ok", "acquire", "a");
  }
  const ReadHistory read = read_text(text, true);
  for (const Engine engine : {Engine::automatic, Engine::search}) {
    const LinearizabilityOptions options{.model = "session-lock", .engine = engine, .jepsen = true};
    const LinearizabilityResult found = check_linearizable(read.history, options);
    ASSERT_EQ(found.outcome, Outcome::violated);
    EXPECT_EQ(found.first()->at, 7U);
    EXPECT_EQ(check_linearizable(read.history.subset(found.first()->witness), options).outcome,
              Outcome::violated);
  }
}

}  // namespace
}  // namespace holdfast::checker
