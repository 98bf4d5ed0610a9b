#include "tools/holdfast/check_plan.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "checker/history/history_jsonl.h"
#include "checker/linearizability/models/model.h"
#include "sim/scenario/problem.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {

using checker::Event;
using checker::Function;
using checker::PackedHistory;

namespace {

// What kinds of events a history has.
struct Contents {
  bool acquires = false, claims = false, sells = false, cas = false;
  bool reads = false;      // acquires in mode read
  bool permits = false;    // acquires of several permits
  bool resizes = false;    // of a key that is acquired
  bool reentries = false;  // an owner was granted anew, by the same acquisition, what it held
  bool crashes = false;    // of a client, told by an event of its own
  // Operations of data structures.
  bool appends = false, queues = false, adds = false, txns = false;
  bool read_lists = false, read_numbers = false;                   // what reads returned
  bool read_empty = false, wrote_empty = false, read_nil = false;  // the empty text
};

// What an event of the resource says of its kind of object.
void look_at_resource(const PackedHistory& history, const Event& event, Contents& found) {
  const bool ok = event.type == checker::EventType::ok;
  const checker::Value value = event.value;
  const bool empty_text = value.kind() == checker::Value::Kind::text && history.text(value.symbol()).empty();
  if (event.f == Function::read && ok) {
    found.read_lists = found.read_lists || value.kind() == checker::Value::Kind::structure;
    found.read_numbers = found.read_numbers || value.is_number();
    found.read_empty = found.read_empty || empty_text;
    found.read_nil = found.read_nil || value.empty();
  }
  found.wrote_empty = found.wrote_empty || (event.f == Function::write && empty_text);
}

// An owner that is granted the acquisition that it holds already, before it gives anything back.
class Reentries {
 public:
  bool take(const Event& event) {
    if (event.type != checker::EventType::ok || event.id == 0) return false;
    const auto holder = std::pair(event.key, event.owner != 0 ? event.owner : event.process);
    if (event.f == Function::acquire) {
      checker::Symbol& held = held_[holder];
      if (held == event.id) return true;
      held = event.id;
    } else if (event.f == Function::release) {
      held_.erase(holder);
    }
    return false;
  }

 private:
  std::map<std::pair<checker::Symbol, checker::Symbol>, checker::Symbol> held_;  // by key and owner
};

Contents contents_of(const PackedHistory& history) {
  Contents found;
  Reentries reentries;
  std::set<checker::Symbol> acquired, resized;
  checker::Symbol last_acquired = 0;
  const auto look = [&](const PackedHistory::Fixed& fixed) {
    const Function f = fixed.f();
    found.acquires = found.acquires || f == Function::acquire || f == Function::release;
    found.sells = found.sells || f == Function::sell;
    found.cas = found.cas || f == Function::cas;
    found.appends = found.appends || f == Function::append;
    found.queues = found.queues || f == Function::enqueue || f == Function::dequeue;
    found.adds = found.adds || f == Function::add;
    found.txns = found.txns || f == Function::txn;
    found.crashes =
        found.crashes || (f == Function::crash && fixed.process() != PackedHistory::kManyProcesses &&
                          history.text(fixed.process()) != "nemesis");
    if (f == Function::resize) resized.insert(fixed.key);
    if (f == Function::acquire && (acquired.empty() || fixed.key != last_acquired))
      acquired.insert(last_acquired = fixed.key);
  };
  history.for_each(
      [&](std::size_t, const PackedHistory::Fixed& fixed) {
        look(fixed), look_at_resource(history, PackedHistory::plain(fixed), found);
      },
      [&](std::size_t, const PackedHistory::Fixed& fixed, const Event& event) {
        look(fixed);
        look_at_resource(history, event, found);
        if (fixed.f() == Function::acquire) {
          found.claims = found.claims || event.valid_until_ns != checker::kAbsent;
          found.reads = found.reads || history.text(event.mode) == "read";
          found.permits = found.permits || event.permits > 1;
        }
        found.reentries = found.reentries || reentries.take(event);
      });
  found.resizes = std::any_of(resized.begin(), resized.end(),
                              [&](checker::Symbol key) { return acquired.contains(key); });
  return found;
}

struct Guess {
  std::string model, why, if_it_holds = {};
};

// Of operations on data structures alone. Two sorts at once are nobody's; the first model then says so.
Guess guess_data_model(const Contents& contents) {
  if (contents.txns) return {"multi-register", "txn"};
  if (contents.appends) return {"kv", "append"};
  if (contents.queues) {
    return {"unordered-queue", "enqueue and dequeue",
            "a queue, but nobody says whether its order counts: --model fifo-queue or --model "
            "unordered-queue does"};
  }
  if (contents.adds) {
    if (contents.read_lists) return {"set", "add, and reads of lists"};
    if (contents.read_numbers) return {"counter", "add, and reads of numbers"};
    return {"set", "add", "adds, and no read that shows of what: --model set or --model counter says it"};
  }
  if (contents.cas) return {"cas-register", "cas"};
  // Where nothing was put, Porcupine's store reads the empty text.
  if (contents.read_empty && !contents.wrote_empty && !contents.read_nil) {
    return {"kv", "reads of an empty text that nobody wrote"};
  }
  return {"register", "no acquire and no cas"};
}

// The model, and what speaks for it.
Guess guess_model(const Contents& contents, checker::Format format) {
  if (!contents.acquires) return guess_data_model(contents);
  const std::string lease = contents.claims ? "leased-" : "";
  const std::string claims = contents.claims ? "valid_until" : "no valid_until";
  if (contents.resizes || contents.permits) {
    return {lease + "semaphore", contents.resizes ? claims + " and resize" : claims + " and permits"};
  }
  if (contents.crashes && !contents.claims && !contents.reads && format != checker::Format::jsonl) {
    return {"session-lock", "no valid_until, and clients that crash"};
  }
  const std::string reentrant = contents.reentries ? "reentrant-" : "";
  const std::string again = contents.reentries ? " and acquisitions that were entered again" : "";
  if (contents.reads) return {reentrant + lease + "read-write", claims + " and mode read" + again};
  return {reentrant + lease + "mutex", claims + again};
}

std::vector<std::string> usual_checks(const std::string& model, checker::Format format, bool sells,
                                      bool stock_known) {
  std::vector<std::string> checks = {"linearizable"};
  if (format != checker::Format::jsonl) return checks;
  const auto made = checker::find_model(model)->make({});
  if (made->locks() && made->owners()) {
    if (!made->leased()) checks.push_back("mutual-exclusion");
    for (const char* name : {"lease-exclusion", "fencing-monotonic", "no-foreign-release"})
      checks.emplace_back(name);
    if (model == "fair") checks.push_back("fair-order");
    checks.push_back("effects-inside-hold");
  }
  if (sells) checks.push_back("negative-stock");
  if (sells && stock_known) checks.push_back("oversell");
  return checks;
}

void require_model(const std::string& model) {
  if (model.empty() || checker::find_model(model) != nullptr) return;
  std::vector<std::string> known;
  for (const checker::ModelKind& each : checker::all_models()) known.emplace_back(each.name);
  throw BadUsage("--model: no model `" + model + "`, expected " + sim::one_of(known) +
                 sim::did_you_mean(model, known));
}

void require_checks(const std::vector<std::string>& checks) {
  std::vector<std::string> known;
  for (const checker::Check* check : checker::all_checks()) known.emplace_back(check->name());
  for (const std::string& check : checks) {
    if (std::find(known.begin(), known.end(), check) != known.end()) continue;
    throw BadUsage("--check: no check `" + check + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(check, known));
  }
}

void require_files(const std::vector<std::string>& files) {
  std::size_t standard_input = 0;
  for (const std::string& file : files) {
    std::error_code ignored;
    if (file == "-") {
      if (++standard_input > 1) throw BadUsage("`-` twice: standard input can be read once");
    } else if (std::filesystem::is_directory(file, ignored)) {
      throw BadUsage(file + ": a folder, expected files");
    } else if (!std::filesystem::exists(file, ignored)) {
      throw BadUsage(file + ": no such file");
    }
  }
}

}  // namespace

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool is_reentrant(const std::string& model) { return model.starts_with("reentrant"); }

CheckPlan plan_checks(const PackedHistory& history, checker::Format format, const CheckArguments& arguments,
                      const checker::Questions* run) {
  const Contents contents = contents_of(history);
  CheckPlan plan;
  plan.model = arguments.model;
  if (run != nullptr) plan.context = run->context;
  if (plan.model.empty()) plan.model = plan.context.model;
  const bool guessed = plan.model.empty();
  if (guessed) {
    Guess guess = guess_model(contents, format);
    plan.model = std::move(guess.model);
    plan.why = std::move(guess.why);
    plan.if_it_holds = std::move(guess.if_it_holds);
  }
  const bool semaphore = plan.model.ends_with("semaphore");
  plan.permits_unknown = guessed && semaphore && !contents.resizes && arguments.permits == 0;

  checker::CheckContext& context = plan.context;
  context.model = plan.model;
  if (run == nullptr || !arguments.model.empty()) context.reentrant = is_reentrant(plan.model);
  if (!semaphore) {
    context.permits = 0;
  } else if (arguments.permits > 0 || context.permits == 0) {
    context.permits = std::max<std::int64_t>(arguments.permits, 1);
  }
  if (const auto stock = number_of(arguments.init)) context.initial_stock = stock;
  if (arguments.overtakes > 0) context.promised_overtakes = arguments.overtakes;

  const auto add = [&plan](checker::Question question, bool asked) {
    const bool there = std::any_of(plan.checks.begin(), plan.checks.end(), [&](const PlannedCheck& planned) {
      return planned.question.check == question.check &&
             (!asked ||
              (planned.question.marks == question.marks && planned.question.wanted() == question.wanted()));
    });
    if (!there) plan.checks.push_back({std::move(question), asked});
  };
  for (const std::string& check : arguments.checks) add({.check = check}, true);
  if (!arguments.checks.empty()) return plan;
  if (run != nullptr) {
    for (const checker::Question& question : run->asked) add(question, true);
    if (!arguments.expect.empty() && !plan.checks.empty()) return plan;
  }
  for (const std::string& check :
       usual_checks(plan.model, format, contents.sells, context.initial_stock.has_value()))
    add({.check = check}, false);
  return plan;
}

checker::LinearizabilityOptions linearizability_options(const CheckPlan& plan,
                                                        const CheckArguments& arguments,
                                                        checker::Format format,
                                                        const PackedHistory& history) {
  checker::LinearizabilityOptions options;
  options.model = plan.model;
  options.engine = arguments.engine;
  options.jepsen = format != checker::Format::jsonl;
  options.model_options.permits = std::max<std::int64_t>(plan.context.permits, 1);
  options.model_options.most_entries = arguments.entries;
  options.budget.bytes = std::uint64_t{arguments.memory_mb} << 20;
  if (const auto number = number_of(arguments.init)) {
    options.model_options.initial = checker::Value(*number);
  } else if (arguments.init != "nil") {
    checker::History names = history.names();
    options.model_options.initial = names.text_value(arguments.init);
  }
  return options;
}

checker::Questions read_questions(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw BadUsage("--expect: " + file + ": this file cannot be opened");
  std::string first;
  std::getline(stream, first);
  if (first.ends_with('\r')) first.pop_back();
  if (first.find(checker::kHeaderMember) != std::string::npos && first.ends_with('}'))
    return checker::parse_questions(first, file);
  std::ostringstream rest;
  rest << stream.rdbuf();
  return checker::parse_questions(first + "\n" + rest.str(), file);
}

void require_sane(const CheckArguments& arguments) {
  require_model(arguments.model);
  require_checks(arguments.checks);
  require_files(arguments.files);
  if (!arguments.follow) return;
  if (arguments.files.size() != 1) throw BadUsage("--follow: expected one history, which grows");
  if (arguments.format.value_or(checker::Format::jsonl) != checker::Format::jsonl)
    throw BadUsage("--follow: expected a history of JSON lines (--format jsonl)");
  if (!arguments.expect.empty())
    throw BadUsage("--follow: --expect asks what a whole history answers; check it when it is complete");
}

}  // namespace holdfast::tools
