// What a machine reads of a run: JUnit XML, one JSON document, GitHub annotations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

using Cases = std::vector<std::unique_ptr<CaseResult>>;

std::string junit_xml(const Cases& cases, bool embedded);
std::string json_document(const Cases& cases, bool embedded, std::uint64_t trace);
// One line for each expectation that was not met: "::error file=F,line=N,title=T::text".
std::string github_annotations(const Cases& cases, bool embedded);

// Writes `text` to `path`, creating its folder. Throws std::runtime_error with the path and the reason.
void write_file(const std::string& path, const std::string& text);

}  // namespace holdfast::tools
