// The lines of a story: which events are told, and in which words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checker/holds/wording.h"

namespace holdfast::checker {

// "is granted stock:42 by r1 as c1-1, valid until 5013.020 ms": what the event says of its process.
std::string describe_event(const History& history, const Event& event, const Wording& words);

// "kill-primary (crash)"
std::string describe_fault(const History& history, const Event& event);

}  // namespace holdfast::checker
