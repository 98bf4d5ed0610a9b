// Warnings of a client, to whom ClientOptions::on_warning names.
#pragma once

#include <string>

#include "lib/redis/client.h"

namespace holdfast::redis {

// One line, to ClientOptions::on_warning, or to standard error where that is empty.
void warn(const ClientOptions& options, const std::string& text);

}  // namespace holdfast::redis
