// case_story: what happened in a case of a hunt or an exploration, as a picture in characters.
#pragma once

#include <string>

#include "sim/hunt/trial.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// Any editor shows it.
inline constexpr Terminal kInAFile{.width = 100, .unicode = true, .color = false};

// Runs it again. "": the failure has no picture.
std::string story_of(const sim::HuntCase& one, const sim::Failure& failure, const Terminal& terminal);

}  // namespace holdfast::tools
