// Opens a page in whatever opens pages on this machine.
#pragma once

#include <string>

namespace holdfast::tools {

// By xdg-open. Throws Missing when nothing opens it.
void open_page(const std::string& page);

}  // namespace holdfast::tools
