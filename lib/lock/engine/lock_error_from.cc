#include "lib/lock/engine/lock_error_from.h"

#include "lib/lock/api/errors.h"

namespace holdfast {

void throw_lock_error(const redis::Error& error, const std::string& key, bool may_have_executed) {
  std::string what = "lock '" + key + "': " + error.what();
  if (may_have_executed && !error.may_have_executed()) what += " (an earlier try may have been executed)";
  if (error.kind() == redis::Error::Kind::unsupported) {
    throw Unsupported(what, key, error.node(), may_have_executed);
  }
  if (error.kind() == redis::Error::Kind::forked) throw Forked(what, key, error.node(), may_have_executed);
  const bool nobody_there = error.kind() == redis::Error::Kind::unreachable;
  const bool stopped = error.kind() == redis::Error::Kind::interrupted;
  if (stopped) throw Interrupted(what, key, error.node(), may_have_executed);
  if (nobody_there || error.worth_another_attempt())
    throw Unavailable(what, key, error.node(), may_have_executed);
  throw Rejected(what, key, error.node(), may_have_executed);
}

}  // namespace holdfast
