#include "tools/holdfast/check_findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::tools {

using checker::Event;
using checker::Witness;

namespace {

std::string process_at(const LoadedHistory& loaded, std::size_t position) {
  return std::string(loaded.packed.text(loaded.packed.event(position).process));
}

// `positions`: in the file, ascending.
void keep_smallest(const LoadedHistory& loaded, const std::vector<std::size_t>& positions, Finding& finding) {
  for (const std::size_t position : positions) finding.indices.push_back(loaded.read.index_of(position));
  finding.smallest.history = loaded.packed.subset(positions);
  finding.smallest.index = finding.indices;
}

}  // namespace

Finding finding_of(const LoadedHistory& loaded, const checker::KeyVerdict& verdict) {
  Finding finding;
  finding.check = "linearizable";
  finding.at = checker::describe(loaded.packed, verdict, loaded.read.index);
  finding.index = loaded.read.index_of(verdict.at);
  finding.process = process_at(loaded, verdict.at);
  Witness& witness = finding.witness;
  witness.kind = verdict.kind;
  witness.why = verdict.reason;
  witness.key = loaded.packed.text(verdict.key);
  witness.from_ns = witness.to_ns = loaded.packed.event(verdict.at).time_ns;
  witness.events = verdict.witness;
  if (verdict.holder) {
    finding.holder = loaded.read.index_of(*verdict.holder);
    finding.holder_process = process_at(loaded, *verdict.holder);
    // The text names both events, so the witness has both.
    for (const std::size_t each : {verdict.at, *verdict.holder}) {
      const auto place = std::lower_bound(witness.events.begin(), witness.events.end(), each);
      if (place == witness.events.end() || *place != each) witness.events.insert(place, each);
    }
    witness.acquires = std::pair(*verdict.holder, verdict.at);
  }
  keep_smallest(loaded, witness.events, finding);
  return finding;
}

Finding finding_of(const LoadedHistory& loaded, const HistoryView& view, std::string_view check,
                   const Witness& witness) {
  Finding finding;
  finding.check = check;
  finding.witness = witness;
  std::size_t at = witness.events.empty() ? 0 : witness.events.back();
  if (witness.acquires) {
    at = std::max(witness.acquires->first, witness.acquires->second);
    const std::size_t holder = view.in_file(std::min(witness.acquires->first, witness.acquires->second));
    finding.holder = loaded.read.index_of(holder);
    finding.holder_process = process_at(loaded, holder);
  }
  const std::size_t in_file = view.in_file(at);
  finding.index = loaded.read.index_of(in_file);
  finding.process = process_at(loaded, in_file);
  finding.at = fmt::format("index {}: {} of process {}", finding.index,
                           to_string(loaded.packed.event(in_file).f), finding.process);
  if (finding.holder) {
    finding.at +=
        fmt::format(", against that of process {}, index {}", finding.holder_process, *finding.holder);
  }
  std::vector<std::size_t> positions;
  for (const std::size_t position : witness.events) positions.push_back(view.in_file(position));
  keep_smallest(loaded, positions, finding);
  return finding;
}

}  // namespace holdfast::tools
