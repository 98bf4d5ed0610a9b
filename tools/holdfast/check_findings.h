// Findings: one violation each, with what a report tells of it: which event, against which hold, the smallest
// sub-history that shows it.
#pragma once

#include <string_view>
#include <vector>

#include "checker/checks/check.h"
#include "checker/linearizability/linearizability.h"
#include "tools/holdfast/check_judge.h"
#include "tools/holdfast/check_view.h"

namespace holdfast::tools {

// Of a key that is not linearizable. The witness has positions of the file.
Finding finding_of(const LoadedHistory& loaded, const checker::KeyVerdict& verdict);

// Of a witness that `check` found in the view. The witness keeps positions of the view.
Finding finding_of(const LoadedHistory& loaded, const HistoryView& view, std::string_view check,
                   const checker::Witness& witness);

}  // namespace holdfast::tools
