// Gallery: drawn histories with a known verdict, as large and as hard as the public ones that checkers are
// compared on. Tests of the engines and of `holdfast check` judge each of them. The verdict, and the event
// that shows a violation, are known by construction (draw_history.h, draw_register.h), not by an engine.
#pragma once

#include <string>
#include <vector>

#include "checker/history/formats.h"
#include "checker/history/history.h"
#include "checker/testing/known_verdict.h"

namespace holdfast::checker::testing {

struct KnownHistory {
  std::string name;  // "mutex_1000_operations_10_clients_invalid"
  Format format = Format::jepsen_edn;
  KnownVerdict verdict;
  History history;
  std::size_t operations = 0, unknown = 0, failed = 0;  // its size
};

// The same histories in every run. Drawn at the first call.
const std::vector<KnownHistory>& gallery();

// The history as a file of its format.
std::string text_of(const KnownHistory& known);

}  // namespace holdfast::checker::testing
