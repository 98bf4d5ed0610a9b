// How error replies are to be read, and how errors are worded.
#pragma once

#include <string>
#include <string_view>

#include "lib/redis/error.h"
#include "lib/redis/reply.h"

namespace holdfast::redis {

// The node refuses because it is not (or not yet) a primary that can serve: seek another.
bool means_not_primary(std::string_view code) noexcept;

// True when this error reply to `command` says that nothing was done. A script that fails half-way does not
// roll back, so for EVAL and its kin only refusals that come before the first write count.
bool says_not_executed(std::string_view command, const Reply& error);

// The error for an error reply.
Error rejection(std::string_view node, std::string_view command, const Reply& error);

// "NODE: COMMAND: what happened (may have been executed)".
Error failure(Error::Kind kind, std::string_view node, std::string_view command, bool may_have_executed,
              std::string_view what);

}  // namespace holdfast::redis
