#include "lib/redis/warning.h"

#include <iostream>

namespace holdfast::redis {

void warn(const ClientOptions& options, const std::string& text) {
  if (options.on_warning) {
    options.on_warning(text);
  } else {
    std::cerr << "holdfast: " + text + '\n';
  }
}

}  // namespace holdfast::redis
