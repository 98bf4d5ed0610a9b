// Manual: the man page holdfast(1), in the macros of man(7), made from the command line itself.
#pragma once

#include <string>

#include "tools/holdfast/command_page.h"

namespace holdfast::tools {

std::string man_page(const CommandPage& app, const std::string& version);

}  // namespace holdfast::tools
