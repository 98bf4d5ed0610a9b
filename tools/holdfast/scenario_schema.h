// The JSON schema (draft 2020-12) of scenario files, for editors. Kinds of locks and faults with their keys,
// checks, marks and events come from the tables that the parser reads by; scenario_schema_test.cc holds the
// rest against the parser, key by key.
#pragma once

#include <string>

namespace holdfast::tools {

// Ends in a newline. What a schema cannot say (a name that no fault has, a range whose end is before its
// begin, locks that count no permits) `holdfast run` says.
std::string scenario_schema();

}  // namespace holdfast::tools
