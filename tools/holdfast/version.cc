#include "tools/holdfast/version.h"

namespace holdfast::tools {

std::string version() { return HOLDFAST_VERSION; }  // by CMakeLists.txt, to this file alone

}  // namespace holdfast::tools
