#include "sim/hunt/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/hunt/draw_case.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t kSeeds = kSeedsThatShow;

using Checks = std::vector<std::string>;

bool hold_on_all_seeds(const Value& document, const Checks& checks) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Trial trial = try_case({.document = document, .seed = seed});
    if (!std::all_of(checks.begin(), checks.end(), [&](const std::string& one) { return trial.holds(one); }))
      return false;
  }
  return true;
}

Value expectation(const std::string& check) {
  Value table;
  set_key(table, "check", text_value(check));
  return table;
}

// Of 20 seeds so many had it: half of that is asked for, as on others it may come otherwise.
std::string at_least_half_of(unsigned seeds) { return fmt::format(">= {}%", seeds * 5 / 2); }

bool asks_at_rest(const Value& document) {
  const Value* const expected = document.find("expect");
  return expected != nullptr &&
         std::any_of(expected->items.begin(), expected->items.end(),
                     [](const Value& one) { return one.find("check")->text == "at-rest"; });
}

// With `at-rest` comes a client of its own, after the work. Where the failure needs what it does, the file
// asks for it as it comes out. `one`: of any seed, unless `seeds` is 1.
Value at_rest_as_it_is(HuntCase one, std::uint64_t seeds) {
  unsigned held = 0;
  for (std::uint64_t i = 1; i <= seeds; ++i) {
    if (seeds > 1) one.seed = i;
    held += try_case(one).holds("at-rest") ? 1 : 0;
  }
  Value as_it_is = expectation("at-rest");
  const bool holds = 2 * held >= seeds;
  if (!holds) set_key(as_it_is, "is", text_value("violated"));
  const auto of_all = static_cast<unsigned>((holds ? held : seeds - held) * kSeeds / seeds);
  if (of_all < kSeeds) set_key(as_it_is, "seeds", text_value(at_least_half_of(of_all)));
  return as_it_is;
}

// Those that wait for one of these wait for ever.
void add_dependants(const Value& document, std::set<std::string>& ids) {
  for (std::size_t before = 0; before != ids.size();) {
    before = ids.size();
    for (const Value& fault : document.find("fault")->items) {
      const Value* const after = fault.find("after");
      const Value* const first = after == nullptr ? nullptr : after->find("fault");
      const Value* const during = fault.find("during");
      if ((first != nullptr && ids.contains(first->text)) ||
          (during != nullptr && ids.contains(during->text)))
        ids.insert(fault.find("id")->text);
    }
  }
}

// A variant in which the promise holds, if it does.
class Variants {
 public:
  // Each of these holds in it.
  Variants(const Ground& ground, const Value& document, Checks checks)
      : ground_(ground), document_(document), checks_(std::move(checks)) {}

  void without_a_fault() {
    const Value* const faults = document_.find("fault");
    if (faults == nullptr) return;
    for (std::size_t i = faults->items.size(); i-- > 0;) {
      std::set<std::string> gone = {faults->items[i].find("id")->text};
      const std::string name = "without-" + *gone.begin();
      add_dependants(document_, gone);
      Value changed = document_, set;
      for (Value& fault : changed.find("fault")->items) {
        const std::string id = fault.find("id")->text;
        if (!gone.contains(id)) continue;
        set_key(fault, "enabled", flag_value(false));
        set_key(set, "fault." + id + ".enabled", flag_value(false));
      }
      if (offer(name, changed, set)) return;
    }
  }

  void with_ours() {
    const std::string ours = ours_for(*ground_.lock);
    if (ours.empty()) return;
    Value changed = document_, set;
    set_key(section_of(changed, "lock"), "kind", text_value(ours));
    set_key(set, "lock.kind", text_value(ours));
    offer("hardened", changed, set);
  }

  // Where nothing else holds: with nobody to share the lock with.
  void with_one_client() {
    Value changed = document_, set;
    for (const char* const key : {"clients", "threads"}) {
      set_key(section_of(changed, "workload"), key, integer_value(1));
      set_key(set, std::string("workload.") + key, integer_value(1));
    }
    if (variants_.empty()) offer("alone", changed, set);
  }

  std::vector<Value> take() { return std::move(variants_); }

 private:
  bool offer(const std::string& name, Value changed, const Value& set) {
    set_key(changed, "expect", expectations());
    Ground any = ground_;
    any.bounds = Ground::Bounds::anything;
    if (!fits(any, changed) || !hold_on_all_seeds(changed, checks_)) return false;
    Value variant;
    set_key(variant, "name", text_value(name));
    set_key(variant, "set", set);
    set_key(variant, "expect", expectations());
    variants_.push_back(std::move(variant));
    return true;
  }

  Value expectations() const {
    std::vector<Value> all;
    for (const std::string& check : checks_) all.push_back(expectation(check));
    return list_value(std::move(all));
  }

  const Ground& ground_;
  const Value& document_;
  const Checks checks_;
  std::vector<Value> variants_;
};

// Words as they may stand in the name of a file: "double-grant-promoted-two-nodes".
std::string file_name(const std::string& words) {
  std::string name;
  for (const char c : words) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (stays) name += c;
    if (c == '.') name += '_';
    if (!stays && c != '.' && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// What a witness of that kind shows, in a sentence; "": no more than its name.
std::string_view sentence_of(const LockKind& lock, std::string_view kind) {
  if (kind == "double-grant")
    return lock.counts_permits ? "more permits are promised than there are"
                               : "two are promised the lock at one time";
  static constexpr std::pair<std::string_view, std::string_view> kSentences[] = {
      {"foreign-removal", "what is sent for one acquisition removes the record of another"},
      {"foreign-extension", "what is sent for one acquisition lengthens the record of another"},
      {"stall", "somebody waits, nobody holds the lock, and nobody is granted it"},
      {"unsettled-call", "a call does not return by its deadline"},
      {"token-repeated", "a fencing token is given twice"},
      {"token-fell", "a later grant has a lower fencing token"},
      {"opened-early", "the latch opens before it is counted down"},
      {"never-opened", "the latch is counted down, and does not open"},
      {"not-free", "when all work is done the lock is not free"},
      {"no-expiry", "a record is left that never expires"},
      {"endless-script", "a script that a lock sent does not end"},
      {"no-record", "somebody is promised a lock of which no server has a record"},
      {"record-expired", "the record expires before the time that its holder was promised"},
      {"record-removed", "the record is removed while its holder was promised it"},
      {"record-overwritten", "the record of one holder is written over by another's"},
      {"two-records", "a server has two records that exclude each other"}};
  for (const auto& [name, sentence] : kSentences) {
    if (name == kind) return sentence;
  }
  return "";
}

// "pause-client of c1, crash of r1": the faults, in the order of the file.
std::string faults_in_words(const Value& document) {
  const Value* const faults = document.find("fault");
  if (faults == nullptr) return "";
  std::string words;
  for (const Value& fault : faults->items) {
    words += (words.empty() ? "" : ", ") + fault.find("kind")->text;
    for (const char* const key : {"client", "node"}) {
      const Value* const party = fault.find(key);
      if (party == nullptr || party->kind != Value::Kind::text) continue;
      words += " of " + (party->text == kEventClient ? "the client" : party->text);
    }
  }
  return words;
}

std::string about(const LockKind& lock, const Value& document, const Failure& failure) {
  std::string text(sentence_of(lock, failure.kind));
  if (text.empty())
    text = failure.check + " is violated" + (failure.kind.empty() ? "" : " (" + failure.kind + ")");
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  const std::string faults = faults_in_words(document);
  return text + (faults.empty() ? "; no fault is needed" : ": " + faults);
}

// Faults that acted on each of the seeds, as marks. REQUIRES: kSeeds seeds show the case
std::vector<std::string> marks_of_faults(const Value& document) {
  std::vector<std::string> common;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<std::string> marks = try_case({.document = document, .seed = seed}).marks;
    if (seed == 1) {
      for (const std::string& mark : marks) {
        if (mark.starts_with("fault.") && !mark.ends_with(".healed")) common.push_back(mark);
      }
    }
    std::erase_if(common, [&](const std::string& mark) {
      return std::find(marks.begin(), marks.end(), mark) == marks.end();
    });
  }
  return common;
}

unsigned seeds_that_show(HuntCase one, const std::string& promise) {
  unsigned shown = 0;
  for (one.seed = 1; one.seed <= kSeeds; ++one.seed) shown += try_case(one).shows(promise) ? 1 : 0;
  return shown;
}

std::string decisions_of(const HuntCase& one) {
  return one.changes.empty() ? "" : to_text({.seed = one.seed, .changes = one.changes});
}

// `seeds`: on how many of 20 it shows with its decisions.
std::string how_to_run(const CaseFile& file, unsigned seeds) {
  if (file.decisions.empty()) return "";
  return fmt::format("\nIt {} the decisions of its run{}: --decisions {}.decisions\n",
                     seeds == kSeeds ? "shows on every seed with" : "needs", seeds == kSeeds ? " alone" : "",
                     file.name);
}

// Whether it is a file for real servers as well. Nothing: nobody made it small, so nobody asked.
std::string on_real_servers(const CaseFile& file, const Shrunk& shrunk, const std::string& check) {
  if (shrunk.runs == 0) return "";
  if (of_embedded_servers(check))
    return fmt::format("It is one of the embedded world: `{}` looks into its servers.\n", check);
  if (!file.decisions.empty())
    return "It is one of the embedded world: real servers decide for themselves.\n";
  if (shrunk.seeds_of_20 < kSeeds)
    return "It is one of the embedded world: on real servers, as on its seeds, it shows by chance.\n";
  if (shrunk.late_of_20 < kSeeds)
    return fmt::format(
        "It lives on times that a busy machine may not keep: where messages and waits come late it shows on "
        "{} "
        "of\n20 seeds. On real servers (--world real) it may not show each time.\n",
        shrunk.late_of_20);
  return fmt::format("It shows where messages and waits come late, too; on real servers: --world real\n");
}

// A "#" within the name of a stream begins none.
std::string without_comment(const std::string& line) {
  for (std::size_t at = line.find('#'); at != std::string::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ') return line.substr(0, at);
  }
  return line;
}

std::uint64_t number(std::string_view text, const std::string& file, int line) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadScenario({file, line, 1}, "`" + std::string(text) + "` is no whole number");
  return value;
}

}  // namespace

bool of_embedded_servers(std::string_view check) { return check == "truth"; }

CaseFile case_file(const Ground& ground, const Shrunk& shrunk, const Failure& failure,
                   const std::string& story) {
  CaseFile file;
  file.name = file_name(std::string(ground.lock->name) + " " +
                        (failure.kind.empty() ? failure.check : failure.kind) + " " + failure.shape);
  Value document = shrunk.one.document;
  set_key(document, "name", text_value(file.name));
  set_key(document, "about", text_value(about(*ground.lock, document, failure)));
  Value broken = expectation(failure.check);
  set_key(broken, "is", text_value("violated"));
  if (!failure.kind.empty()) set_key(broken, "kind", text_value(failure.kind));
  std::vector<Value> expected = {broken};
  unsigned with_decisions = 0;
  std::string told = story;
  Checks checks = {failure.check};
  const bool rests = failure.check != "at-rest" && asks_at_rest(document);
  if (shrunk.seeds_of_20 == kSeeds) {
    set_key(section_of(document, "run"), "seeds", text_value("1..20"));
    std::vector<Value> marks;
    for (const std::string& mark : marks_of_faults(document)) marks.push_back(text_value(mark));
    if (!marks.empty()) {
      Value reached = expectation("reached");
      set_key(reached, "marks", list_value(std::move(marks)));
      expected.push_back(std::move(reached));
    }
  } else {
    file.decisions = decisions_of(shrunk.one);
    if (!file.decisions.empty()) with_decisions = seeds_that_show(shrunk.one, failure.promise());
    if (shrunk.seeds_of_20 >= 2) {
      set_key(section_of(document, "run"), "seeds", text_value("1..20"));
      set_key(expected.front(), "seeds", text_value(at_least_half_of(shrunk.seeds_of_20)));
    } else {
      set_key(section_of(document, "run"), "seeds", text_value(std::to_string(shrunk.one.seed)));
    }
  }
  if (rests) {
    HuntCase one = shrunk.one;
    if (file.decisions.empty()) one.changes = {};
    expected.insert(expected.begin() + 1, at_rest_as_it_is(one, shrunk.seeds_of_20 >= 2 ? kSeeds : 1));
    checks.emplace_back("at-rest");
    told += "\n`rest` comes with the check `at-rest`, when all work is done.\n";
  }
  set_key(document, "expect", list_value(std::move(expected)));
  Variants variants(ground, document, checks);
  variants.without_a_fault();
  variants.with_ours();
  variants.with_one_client();
  std::vector<Value> found = variants.take();
  file.controlled = !found.empty();
  if (file.controlled) set_key(document, "variant", list_value(std::move(found)));
  put_in_order(document);
  const std::string real = on_real_servers(file, shrunk, failure.check);
  file.toml = to_toml(document, told + how_to_run(file, with_decisions) +
                                    (real.empty() || !file.decisions.empty() ? "" : "\n") + real);
  return file;
}

void add_comment(CaseFile& file, const std::string& line) {
  std::size_t at = 0;
  while (file.toml.compare(at, 1, "#") == 0) at = file.toml.find('\n', at) + 1;
  file.toml.insert(at, "# " + line + "\n");
}

CaseFile case_file_of_harness(const HuntCase& one, const Failure& failure) {
  CaseFile file;
  file.name = file_name("harness " + failure.kind + " " + failure.shape);
  file.decisions = decisions_of(one);
  Value document = one.document;
  set_key(section_of(document, "run"), "seeds", text_value(std::to_string(one.seed)));
  file.toml = to_toml(document, failure.why + "\n" + how_to_run(file, 1));
  return file;
}

std::string ours_for(const LockKind& kind) {
  if (!kind.version_of.empty()) return std::string(kind.version_of);
  if (!kind.historic || kind.latch || kind.pair) return "";
  if (kind.counts_permits) return "semaphore";
  if (kind.shared) return "read-write";
  if (kind.quorum) return "redlock";
  if (kind.fair) return "fair";
  return "reentrant";
}

std::string to_text(const DecisionsFile& decisions) {
  std::string text = fmt::format("seed {}\n", decisions.seed);
  for (const Changes::Reseed& reseed : decisions.changes.reseeds)
    text += fmt::format("reseed {} {}\n", reseed.at_ns, reseed.seed);
  for (const auto& [stream, fixed] : decisions.changes.fixed) {
    for (const auto& [at, value] : fixed) text += fmt::format("fix {} {} {}\n", stream, at, value);
  }
  return text;
}

DecisionsFile parse_decisions(std::string_view text, const std::string& file) {
  DecisionsFile decisions;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int at = 1; std::getline(lines, line); ++at) {
    std::istringstream words(without_comment(line));
    std::vector<std::string> word;
    for (std::string one; words >> one;) word.push_back(one);
    if (word.empty()) continue;
    const auto to_number = [&](std::size_t i) { return number(word[i], file, at); };
    if (word[0] == "seed" && word.size() == 2) {
      decisions.seed = to_number(1);
    } else if (word[0] == "reseed" && word.size() == 3) {
      decisions.changes.reseeds.push_back(
          {.at_ns = static_cast<std::int64_t>(to_number(1)), .seed = to_number(2)});
    } else if (word[0] == "fix" && word.size() == 4) {
      decisions.changes.fixed[word[1]][to_number(2)] = to_number(3);
    } else {
      throw BadScenario({file, at, 1},
                        "expected `seed N`, `reseed NANOSECOND SEED` or `fix STREAM NUMBER VALUE`");
    }
  }
  std::stable_sort(decisions.changes.reseeds.begin(), decisions.changes.reseeds.end(),
                   [](const Changes::Reseed& a, const Changes::Reseed& b) { return a.at_ns < b.at_ns; });
  return decisions;
}

DecisionsFile read_decisions(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw BadScenario({path, 0, 0}, "cannot be read, expected a file of decisions");
  return parse_decisions(text.str(), path);
}

}  // namespace holdfast::sim
