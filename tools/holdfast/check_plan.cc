#include "tools/holdfast/check_plan.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

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
};

Contents contents_of(const PackedHistory& history) {
  Contents found;
  const auto look = [&](Function f) {
    found.acquires = found.acquires || f == Function::acquire || f == Function::release;
    found.sells = found.sells || f == Function::sell;
    found.cas = found.cas || f == Function::cas;
  };
  history.for_each([&](std::size_t, const PackedHistory::Fixed& fixed) { look(fixed.f()); },
                   [&](std::size_t, const PackedHistory::Fixed& fixed, const Event& event) {
                     look(fixed.f());
                     found.claims = found.claims || (fixed.f() == Function::acquire &&
                                                     event.valid_until_ns != checker::kAbsent);
                   });
  return found;
}

std::string guess_model(const Contents& contents) {
  if (contents.claims) return "leased-mutex";
  if (contents.acquires) return "mutex";
  return contents.cas ? "cas-register" : "register";
}

std::vector<std::string> usual_checks(const std::string& model, checker::Format format, bool sells,
                                      bool stock_known) {
  std::vector<std::string> checks = {"linearizable"};
  if (format != checker::Format::jsonl) return checks;
  const auto made = checker::find_model(model)->make({});
  if (made->locks() && made->owners()) {
    if (model != "leased-mutex") checks.push_back("mutual-exclusion");
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

bool is_reentrant(const std::string& model) {
  return model.starts_with("reentrant") || model == "leased-mutex";
}

CheckPlan plan_checks(const PackedHistory& history, checker::Format format, const CheckArguments& arguments) {
  const Contents contents = contents_of(history);
  CheckPlan plan{.model = arguments.model, .checks = arguments.checks, .usual = arguments.checks.empty()};
  if (plan.model.empty()) plan.model = guess_model(contents);
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
