#pragma once

#include <string>

namespace holdfast::tools {

// "0.1.0".
std::string version();

}  // namespace holdfast::tools
