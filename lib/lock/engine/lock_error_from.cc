#include "lib/lock/engine/lock_error_from.h"

#include "lib/lock/api/errors.h"

namespace holdfast {

bool worth_another_attempt(const redis::Error& error) {
  switch (error.kind()) {
    case redis::Error::Kind::unavailable:
    case redis::Error::Kind::disconnected:
    case redis::Error::Kind::timed_out: return true;
    case redis::Error::Kind::rejected:
    case redis::Error::Kind::protocol:
    case redis::Error::Kind::unauthorized:
    case redis::Error::Kind::unsupported:
    case redis::Error::Kind::unreachable: return false;
  }
  return false;
}

void throw_lock_error(const redis::Error& error, const std::string& key, bool may_have_executed) {
  std::string what = "lock '" + key + "': " + error.what();
  if (may_have_executed && !error.may_have_executed()) what += " (an earlier try may have been executed)";
  if (error.kind() == redis::Error::Kind::unsupported) {
    throw Unsupported(what, key, error.node(), may_have_executed);
  }
  const bool nobody_there = error.kind() == redis::Error::Kind::unreachable;
  if (nobody_there || worth_another_attempt(error))
    throw Unavailable(what, key, error.node(), may_have_executed);
  throw Rejected(what, key, error.node(), may_have_executed);
}

}  // namespace holdfast
