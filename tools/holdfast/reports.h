// What a machine reads of a run: JUnit XML, one JSON document, GitHub annotations.
#pragma once

#include <string>

#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

// One <testcase> for each scenario and variant, in the form that Jenkins and Surefire share; what was not
// run, or was cut by Ctrl-C, is <skipped>. `seconds`: of the whole command.
std::string junit_xml(const Plan& plan, const RunArguments& arguments, double seconds);
// Of a shard, with what `merge` needs (run_shard.h).
std::string json_document(const Plan& plan, const RunArguments& arguments, std::uint64_t trace,
                          double seconds);
// One line for each expectation that was not met: "::error file=F,line=N,title=T::text".
std::string github_annotations(const Plan& plan, const RunArguments& arguments);

}  // namespace holdfast::tools
