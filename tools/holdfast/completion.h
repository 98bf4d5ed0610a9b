// Completion: the script that lets a shell complete `holdfast`: commands, flags, values out of a list, files.
#pragma once

#include <string>

#include "tools/holdfast/command_page.h"

namespace holdfast::tools {

std::string bash_completion(const CommandPage& app);
std::string zsh_completion(const CommandPage& app);

}  // namespace holdfast::tools
