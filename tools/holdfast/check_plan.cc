#include "tools/holdfast/check_plan.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "checker/checks/check.h"
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
};

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
  const auto look = [&](const PackedHistory::Fixed& fixed) {
    const Function f = fixed.f();
    found.acquires = found.acquires || f == Function::acquire || f == Function::release;
    found.sells = found.sells || f == Function::sell;
    found.cas = found.cas || f == Function::cas;
    if (f == Function::resize) resized.insert(fixed.key);
    if (f == Function::acquire) acquired.insert(fixed.key);
  };
  history.for_each([&](std::size_t, const PackedHistory::Fixed& fixed) { look(fixed); },
                   [&](std::size_t, const PackedHistory::Fixed& fixed, const Event& event) {
                     look(fixed);
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

// The model, and what speaks for it.
std::pair<std::string, std::string> guess_model(const Contents& contents) {
  if (!contents.acquires) {
    return contents.cas ? std::pair("cas-register", "cas") : std::pair("register", "no acquire and no cas");
  }
  const std::string lease = contents.claims ? "leased-" : "";
  const std::string claims = contents.claims ? "valid_until" : "no valid_until";
  if (contents.resizes || contents.permits) {
    return {lease + "semaphore", contents.resizes ? claims + " and resize" : claims + " and permits"};
  }
  if (contents.reads) return {lease + "read-write", claims + " and mode read"};
  if (contents.reentries) {
    return {"reentrant-" + lease + "mutex", claims + " and acquisitions that were entered again"};
  }
  return {lease + "mutex", claims};
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
  for (const checker::Check* check : checker::all_checks()) {
    // These two need a scenario: its bound, its marks.
    if (check->name() != "progress" && check->name() != "reached") known.emplace_back(check->name());
  }
  for (const std::string& check : checks) {
    if (std::find(known.begin(), known.end(), check) != known.end()) continue;
    if (checker::find_check(check) != nullptr) {
      throw BadUsage("--check: `" + check + "` needs what only a scenario says, expected " +
                     sim::one_of(known));
    }
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

CheckPlan plan_checks(const PackedHistory& history, checker::Format format, const CheckArguments& arguments) {
  const Contents contents = contents_of(history);
  CheckPlan plan{.model = arguments.model, .checks = arguments.checks, .usual = arguments.checks.empty()};
  if (plan.model.empty()) std::tie(plan.model, plan.why) = guess_model(contents);
  plan.permits_unknown = !contents.resizes && arguments.permits == 0 && plan.model.ends_with("semaphore") &&
                         arguments.model.empty();
  if (plan.usual) {
    plan.checks = usual_checks(plan.model, format, contents.sells, number_of(arguments.init).has_value());
  }
  return plan;
}

void require_sane(const CheckArguments& arguments) {
  require_model(arguments.model);
  require_checks(arguments.checks);
  require_files(arguments.files);
}

}  // namespace holdfast::tools
