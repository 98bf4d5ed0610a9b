// The models of data structures, from a file's text to the verdict, against brute force over a definition of
// each that shares nothing with the model: a drawn object answers, and some answers are then changed.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"
#include "checker/testing/random.h"

namespace holdfast::checker {
namespace {

using testing::Random;

// --- the definitions -----------------------------------------------------------------------------------

// What any of the objects may be: a text.
struct Object {
  std::string text;
  auto operator<=>(const Object&) const = default;
};

struct Call {
  Function f = Function::read;
  int process = 0;
  std::string put;   // what is put in or added
  std::string told;  // the answer
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
  }
  return {next};
}

std::string answer(const std::string&, const Object& object, const Call& call) {
  return call.f == Function::read ? object.text : "";
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

void draw_request(const std::string& model, Random& random, int number, Call& call) {
  if (model == "kv") {
    const auto which = random.between(0, 3);
    call.f = which == 0 ? Function::write : which == 1 ? Function::append : Function::read;
    call.put = which > 1 ? "" : random.chance(0.3) ? "" : std::string(1, static_cast<char>('a' + number % 3));
  }
}

std::string another_answer(const std::string&, Random& random, const Call&) {
  std::string text;
  for (auto left = random.between(0, 3); left > 0; --left)
    text += static_cast<char>('a' + random.between(0, 2));
  return text;
}

// Up to eight calls of up to four processes.
std::vector<Call> draw(const std::string& model, Random& random) {
  const auto processes = random.between(1, 4);
  const std::int64_t span = random.between(4, 14), gap = random.between(0, 2);
  std::vector<Call> calls;
  std::vector<std::pair<std::int64_t, std::size_t>> moments;  // at which it takes effect
  for (int process = 0; process < processes; ++process) {
    std::int64_t time = random.between(0, span), moment = 0;
    for (auto left = random.between(1, 4); left > 0 && calls.size() < 8; --left) {
      Call call;
      call.process = process;
      draw_request(model, random, static_cast<int>(calls.size()), call);
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
    if (!call.unknown) call.told = answer(model, object, call);
    const std::vector<Object> next = after(model, object, call);
    if (!next.empty()) object = next[static_cast<std::size_t>(random.next() % next.size())];
  }
  if (random.chance(0.6)) {
    Call& changed = calls[static_cast<std::size_t>(random.next() % calls.size())];
    changed.told = another_answer(model, random, changed);
  }
  return calls;
}

// --- the text ----------------------------------------------------------------------------------------------

std::string value_text(const std::string&, const Call& call, bool completion, bool edn) {
  const std::string nothing = edn ? "nil" : "null";
  if (call.f == Function::read) return completion ? '"' + call.told + '"' : nothing;
  return '"' + call.put + '"';
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
    const std::string value = value_text(model, call, type == "ok", edn);
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
      EXPECT_EQ(check_linearizable(read.history.subset(found.first()->witness), options).outcome,
                Outcome::violated)
          << model << ", seed " << seed << ": the witness shows nothing\n"
          << text;
    }
  }
  EXPECT_GT(violated, histories / 10) << model;
  EXPECT_LT(violated, histories * 9 / 10) << model;
  ::testing::Test::RecordProperty("by_linear", by_linear);
}

class DataModel : public ::testing::TestWithParam<const char*> {};
TEST_P(DataModel, AgreesWithItsDefinition) { agree(GetParam(), 2000); }
INSTANTIATE_TEST_SUITE_P(Models, DataModel, ::testing::Values("kv"));
class LongDataModel : public ::testing::TestWithParam<const char*> {};
TEST_P(LongDataModel, AgreesWithItsDefinition) { agree(GetParam(), 100'000); }
INSTANTIATE_TEST_SUITE_P(LongModels, LongDataModel, ::testing::Values("kv"));

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
