// A history means the same however it is written: drawn histories are written with the liberties that each
// format grants, read back, and judged. What is written here shares no code with the library's writers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "checker/checks/check.h"
#include "checker/history/formats.h"
#include "checker/history/joiner.h"
#include "checker/history/packed_history.h"
#include "checker/linearizability/linearizability.h"
#include "checker/testing/draw_history.h"
#include "checker/testing/draw_register.h"
#include "checker/testing/random.h"

namespace holdfast::checker {
namespace {

class Scribe {
 public:
  Scribe(const History& history, std::uint64_t seed) : history_(history), random_(seed) {}

  // Lines in any order that keeps each process's own; fields in any order, blanks, names as numbers or texts,
  // fields that nobody knows, a byte order mark, lines that end as elsewhere.
  std::string jsonl() {
    std::map<Symbol, std::vector<std::size_t>> left;  // by process: positions, the last one first
    for (std::size_t i = history_.events().size(); i-- > 0;) left[history_.events()[i].process].push_back(i);
    const bool shuffled = chance(), index = chance(), crlf = chance();
    std::string text = chance() ? "\xEF\xBB\xBF" : "";
    for (std::size_t next = 0; !left.empty(); ++next) {
      std::size_t position = next;
      if (shuffled) {
        auto of = left.begin();
        std::advance(of, random_.between(0, static_cast<std::int64_t>(left.size()) - 1));
        position = of->second.back();
      }
      auto& mine = left[history_.events()[position].process];
      mine.pop_back();
      if (mine.empty()) left.erase(history_.events()[position].process);
      text += json_line(position, index) + (crlf ? "\r\n" : "\n");
      if (random_.between(0, 9) == 0) text += " \t\n";
    }
    return text;
  }

  // In order; one map after another, in a vector or a list; keys as keywords or strings; commas, comments,
  // tags and discarded values.
  std::string edn() {
    const std::int64_t around = random_.between(0, 2);
    std::string text = around == 0 ? "" : around == 1 ? "[" : "(";
    for (const Event& event : history_.events()) text += edn_map(event) + (chance() ? "\n" : " ; ok? }{\n");
    return text + (around == 0 ? "" : around == 1 ? "]" : ")");
  }

  std::string log() {
    const std::string between = chance() ? "\t" : "  ";
    std::string text = "INFO  jepsen.core - Run complete, writing\n";
    for (const Event& event : history_.events()) {
      text += "INFO  jepsen.util - " + name(event.process) + between + ":" +
              std::string(to_string(event.type)) + between + ":" + std::string(to_string(event.f)) + between +
              edn_value(event) + "\n";
    }
    return text;
  }

 private:
  bool chance() { return random_.between(0, 1) == 1; }
  std::string name(Symbol symbol) const { return std::string(history_.text(symbol)); }
  std::string blank() {
    return std::vector<std::string>{"", " ", "\t", "  "}[static_cast<std::size_t>(random_.between(0, 3))];
  }

  std::string json_line(std::size_t position, bool index) {
    const Event& event = history_.events()[position];
    const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
    const auto named = [&](Symbol symbol) {
      const bool number = name(symbol).find_first_not_of("0123456789") == std::string::npos;
      return !number || chance() ? quoted(name(symbol)) : name(symbol);
    };
    std::vector<std::string> fields = {"\"time\":" + blank() + std::to_string(event.time_ns),
                                       "\"process\":" + named(event.process),
                                       "\"type\":" + quoted(std::string(to_string(event.type))),
                                       "\"f\":" + blank() + quoted(std::string(to_string(event.f)))};
    if (index) fields.push_back("\"index\":" + std::to_string(position));
    if (event.key != 0) fields.push_back("\"key\":" + quoted(name(event.key)));
    if (event.error != 0) fields.push_back("\"error\":" + quoted(name(event.error)));
    if (event.id != 0) fields.push_back("\"id\":" + quoted(name(event.id)));
    if (event.valid_until_ns != kAbsent)
      fields.push_back("\"valid_until\":" + std::to_string(event.valid_until_ns));
    if (!event.value.empty()) fields.push_back("\"value\":" + std::to_string(event.value.number()));
    if (!event.token.empty()) fields.push_back("\"token\":" + std::to_string(event.token.number()));
    if (chance()) fields.push_back("\"owner\":null");
    if (chance()) fields.push_back(R"("note":{"f":"release","deep":[1,{"type":"ok"},-2.5e3,"}"]})");
    std::string line = blank() + "{";
    while (!fields.empty()) {
      const auto at = fields.begin() + random_.between(0, static_cast<std::int64_t>(fields.size()) - 1);
      line += blank() + *at + blank();
      fields.erase(at);
      if (!fields.empty()) line += ",";
    }
    return line + "}" + blank();
  }

  static std::string edn_value(const Event& event) {
    const auto number = [](Value value) { return value.empty() ? "nil" : std::to_string(value.number()); };
    if (event.f != Function::cas) return number(event.value);
    return "[" + number(event.token) + " " + number(event.value) + "]";
  }
  std::string edn_map(const Event& event) {
    const auto word = [&](std::string_view text) {
      return chance() ? ":" + std::string(text) : '"' + std::string(text) + '"';
    };
    std::vector<std::string> fields = {
        word("type") + " " + word(to_string(event.type)), word("f") + " " + word(to_string(event.f)),
        word("process") + " " + name(event.process), word("value") + " " + edn_value(event)};
    if (event.key != 0) fields.push_back(word("key") + " \"" + name(event.key) + "\"");
    if (chance()) fields.push_back(word("time") + " " + std::to_string(random_.between(0, 1000)));
    if (chance()) fields.push_back("#_ {:type :fail}");
    std::string text = chance() ? "#jepsen.history.Op {" : "{";
    while (!fields.empty()) {
      const auto at = fields.begin() + random_.between(0, static_cast<std::int64_t>(fields.size()) - 1);
      text += *at + (chance() ? ", " : " ");
      fields.erase(at);
    }
    return text + "}";
  }

  const History& history_;
  testing::Random random_;
};

Outcome judged(const PackedHistory& packed, const std::string& model, bool jepsen) {
  LinearizabilityOptions options;
  options.model = model;
  options.jepsen = jepsen;
  options.shrink = false;
  return check_linearizable(packed, options).outcome;
}

// `exclusion`: receives how many holds conflict.
Outcome read_and_judged(const std::string& text, Format format, const std::string& model,
                        std::uint64_t* exclusion = nullptr) {
  std::istringstream in(text);
  PackedHistory packed;
  Format used{};
  const ReadHistory read = read_history(in, {.file = "drawn", .used = &used, .into = &packed});
  EXPECT_EQ(used, format) << text;
  EXPECT_TRUE(read.not_understood.empty()) << text;
  require_joined(packed, read, format == Format::jsonl);
  if (exclusion != nullptr) *exclusion = find_check("mutual-exclusion")->run(packed.unpack(), {}).violations;
  return judged(packed, model, format != Format::jsonl);
}

// The same locks with leases: each grant is promised for 50 us, and a watchdog of its client, a process of
// its own, renews it once for 400 us.
History with_leases(const History& drawn) {
  History leased = drawn.names();
  std::vector<Event> events;
  std::map<Symbol, Symbol> held;  // by process: the acquisition
  for (std::size_t i = 0; i < drawn.events().size(); ++i) {
    Event event = drawn.events()[i];
    const std::string client(drawn.text(event.process));
    if (event.f == Function::acquire && event.type == EventType::ok) {
      event.id = held[event.process] = leased.intern("a" + std::to_string(i));
      event.valid_until_ns = event.time_ns + 50'000;
      Event renewal = event;
      renewal.f = Function::renew;
      renewal.process = leased.intern(client + "/watchdog" + std::to_string(i));
      renewal.type = EventType::invoke;
      renewal.valid_until_ns = kAbsent;
      renewal.time_ns += 20'000;
      events.push_back(renewal);
      renewal.type = EventType::ok;
      renewal.time_ns += 10'000;
      renewal.valid_until_ns = event.time_ns + 400'000;
      events.push_back(renewal);
    } else if (event.f == Function::release) {
      event.id = held[event.process];
      if (event.id % 3 == 0) continue;  // never released: the claim runs on while others are granted the lock
    }
    events.push_back(event);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  for (const Event& event : events) leased.append(event);
  return leased;
}

// What lease-exclusion counts in the text.
std::uint64_t double_grants(const std::string& text) {
  std::istringstream in(text);
  const ReadHistory read = read_history(in, {.file = "drawn"});
  return find_check("lease-exclusion")->run(read.history, {}).violations;
}

// How many of them were violated. `doubled`: of the leased ones.
int take_liberties(const std::string& model, std::uint64_t first, std::uint64_t last, int& doubled) {
  int violated = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " of " + model);
    const bool invalid = seed % 2 == 0;
    const History drawn =
        model == "mutex"
            ? draw_lock_history({.operations = 30,
                                 .keys = seed % 3 == 0 ? 1U : 2U,
                                 .clients = 5,
                                 .unknown = 0.05,
                                 .seed = seed,
                                 .invalid = invalid})
                  .history
            : draw_register_history(
                  {.operations = 30, .clients = 4, .unknown = 0.05, .seed = seed, .invalid = invalid})
                  .history;
    const PackedHistory packed = PackedHistory::pack(drawn);
    Scribe scribe(drawn, seed);
    const Outcome by_time = judged(packed, model, false), by_order = judged(packed, model, true);
    violated += by_order == Outcome::violated ? 1 : 0;
    std::uint64_t conflicts = 0;
    EXPECT_EQ(read_and_judged(scribe.jsonl(), Format::jsonl, model, &conflicts), by_time);
    EXPECT_EQ(conflicts, find_check("mutual-exclusion")->run(drawn, {}).violations);
    if (model == "mutex") {
      const History leased = with_leases(drawn);
      EXPECT_EQ(double_grants(Scribe(leased, seed).jsonl()),
                find_check("lease-exclusion")->run(leased, {}).violations);
      doubled += find_check("lease-exclusion")->run(leased, {}).violations > 0 ? 1 : 0;
    }
    EXPECT_EQ(read_and_judged(scribe.edn(), Format::jepsen_edn, model), by_order);
    // A text log has no keys.
    const bool one_key = model != "mutex" || seed % 3 == 0;
    if (one_key) {
      EXPECT_EQ(read_and_judged(scribe.log(), Format::jepsen_log, model), by_order);
    }
    if (::testing::Test::HasFailure()) return violated;
  }
  return violated;
}

TEST(Liberties, AMutexMeansTheSameInEachFormat) {
  int doubled = 0;
  EXPECT_GT(take_liberties("mutex", 1, 400, doubled), 100);
  EXPECT_GT(doubled, 100);
}
TEST(Liberties, ARegisterMeansTheSameInEachFormat) {
  int none = 0;
  EXPECT_GT(take_liberties("cas-register", 1, 400, none), 100);
}
TEST(LongLiberties, AMutexMeansTheSameInEachFormat) {
  int doubled = 0;
  take_liberties("mutex", 1'000, 150'000, doubled);
}
TEST(LongLiberties, ARegisterMeansTheSameInEachFormat) {
  int none = 0;
  take_liberties("cas-register", 1'000, 60'000, none);
}

}  // namespace
}  // namespace holdfast::checker
