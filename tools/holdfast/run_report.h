// What `holdfast run` prints for people: each case as it came out, the story, what was unexpected, the total.
#pragma once

#include <string>
#include <string_view>

#include "checker/history/history.h"
#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

// One case: a line, and its expectations below; `brief` (a run of many): those only where something is
// unexpected.
std::string case_report(const CaseResult& result, const Terminal& terminal, bool brief);

// "not run: FILE: reason" for each that was found in a folder and needs what is missing here.
std::string not_run_report(const Plan& plan, const Terminal& terminal);

// The story of one run: its title, what it is about, the picture, the line that reproduces it. `folder`:
// where it is kept, "" nowhere.
std::string story_report(const KeptRun& run, const checker::History& history, const std::string& folder,
                         const Terminal& terminal);

// What was not as expected, each with the expectation, what was found, the folder and the line that
// reproduces it. "" everything was.
std::string unexpected_report(const Plan& plan, const RunArguments& arguments);

// Where --out kept something although it was expected, or why it kept nothing. "" without --out.
// `all_written`: nothing of it was lost.
std::string kept_report(const Plan& plan, const RunArguments& arguments, bool all_written);

// "401 cases, 15,320 runs, 0 unexpected, 12.1 s". `seconds`: of the whole command. `cut`: why it is not all,
// "interrupted"; "" it is.
std::string total_line(const Plan& plan, double seconds, std::string_view cut);

}  // namespace holdfast::tools
