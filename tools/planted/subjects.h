// Subjects: what is hunted for the track record.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/planted/planted.h"

namespace holdfast::tools {

struct Subject {
  const sim::LockKind* kind = nullptr;
  const sim::PlantedVersion* version = nullptr;  // null: a published design, or a lock that ships
  // The promises that its hunts look for: of a published design those that its entries in the museum say are
  // broken, as far as a hunt asks for them. Empty: any.
  std::set<std::string> wanted = {};
};

// Each planted version.
std::vector<Subject> planted_subjects();
// Each published design. `museum`: a folder of scenario files. Throws BadScenario.
std::vector<Subject> published_subjects(const std::string& museum);

// Those whose name has this text.
std::vector<Subject> only(std::vector<Subject> subjects, const std::string& text);

}  // namespace holdfast::tools
