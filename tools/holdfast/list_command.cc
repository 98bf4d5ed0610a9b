// `holdfast list`: one thing a line, its name first.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "checker/checks/check.h"
#include "checker/linearizability/models/model.h"
#include "sim/client/lock_kind.h"
#include "sim/client/workload_kind.h"
#include "sim/comparators/engine.h"
#include "sim/fault/fault.h"
#include "sim/scenario/parse_recogniser.h"
#include "sim/scenario/scenario.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

// "KEY = TYPE, [KEY = TYPE]": in brackets what may be left out.
std::string keys_of(const std::vector<sim::Setting>& settings) {
  std::string keys;
  for (const sim::Setting& setting : settings) {
    std::string one = fmt::format("{} = {}", setting.name, sim::type_name(setting.type));
    keys += (keys.empty() ? "" : ", ") + (setting.required ? one : "[" + one + "]");
  }
  return keys;
}

std::string seconds(Duration time) {
  return fmt::format("{}s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::string describe(const sim::FaultKind& kind) {
  std::string text(kind.about);
  std::string keys = keys_of(kind.keys);
  if (kind.must_end) keys += keys.empty() ? "for = DURATION" : ", for = DURATION";
  if (!keys.empty()) text += "; keys: " + keys;
  if (!kind.embedded) text += "; real world only";
  if (!kind.real) text += "; embedded world only";
  return text;
}

// What a scenario gets that does not say otherwise stands there where it is not the usual.
std::string describe(const sim::LockKind& kind) {
  std::string text = (kind.historic ? "(historic) " : "") + std::string(kind.about);
  if (kind.lease != Duration::zero() && kind.lease != sim::WorkloadOptions().lease)
    text += "; lease " + seconds(kind.lease);
  if (kind.wait_timeout) text += "; lock() gives up after " + seconds(*kind.wait_timeout);
  return text;
}

}  // namespace

ExitCode list_command(const std::string& what) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (what == "locks") {
    for (const sim::LockKind& kind : sim::all_lock_kinds()) {
      rows.emplace_back(kind.name, describe(kind));
    }
    for (const sim::LockKind* const kind : sim::comparator_locks())
      rows.emplace_back(kind->name, describe(*kind) + "; real world only");
  } else if (what == "faults") {
    for (const sim::FaultKind& kind : sim::all_fault_kinds()) rows.emplace_back(kind.name, describe(kind));
  } else if (what == "workloads") {
    for (const sim::WorkloadKind& kind : sim::all_workload_kinds()) {
      rows.emplace_back(kind.name, fmt::format("{}; keys: {}", kind.about, keys_of(kind.keys)));
    }
  } else if (what == "checks") {
    for (const checker::Check* check : checker::all_checks())
      rows.emplace_back(check->name(), check->about());
  } else if (what == "models") {
    for (const checker::ModelKind& model : checker::all_models()) rows.emplace_back(model.name, model.about);
  } else if (what == "marks") {
    rows.emplace_back("fault.ID",
                      "the fault with that id acted; one that waits for messages or connections: it met one");
    rows.emplace_back("fault.ID.healed", "the fault with that id was healed");
    for (const sim::MarkInfo& mark : sim::all_marks()) rows.emplace_back(mark.name, mark.about);
  } else if (what == "recognisers") {
    for (const sim::Recogniser& one : sim::shipped_recognisers()) rows.emplace_back(one.name, one.about);
  } else if (what == "events") {
    for (const sim::RunEventInfo& event : sim::all_run_events()) rows.emplace_back(event.name, event.about);
  } else {
    const std::vector<std::string> known = {"locks",  "faults", "workloads", "checks",
                                            "models", "marks",  "events",    "recognisers"};
    throw BadUsage("list: unknown list `" + what + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(what, known));
  }
  std::size_t width = 0;
  for (const auto& [name, about] : rows) width = std::max(width, name.size());
  for (const auto& [name, about] : rows) print_out(fmt::format("{:<{}}  {}\n", name, width, about));
  return kMet;
}

}  // namespace holdfast::tools
