#include "lib/redis/reply.h"

namespace holdfast::redis {

std::string Reply::error_code() const { return is_error() ? text.substr(0, text.find(' ')) : std::string(); }

}  // namespace holdfast::redis
