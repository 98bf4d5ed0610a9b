// Reports on judged histories: text, and one JSON document.
#pragma once

#include <string>
#include <vector>

#include "tools/holdfast/check_judge.h"

namespace holdfast::tools {

// The whole report on one history: verdicts, first violating event, summary, picture, smallest sub-history.
std::string check_report(const Checked& checked, const CheckArguments& arguments);
// One line on a history, where there are several.
std::string check_line(const Checked& checked, const Terminal& terminal);
std::string check_total(const std::vector<Checked>& all);
std::string check_json(const std::vector<Checked>& all);
// The smallest sub-history in the format of its file; for old text logs, in EDN.
std::string witness_text(const Checked& checked, const Finding& finding, bool keyed);

}  // namespace holdfast::tools
