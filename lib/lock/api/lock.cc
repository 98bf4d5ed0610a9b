#include "lib/lock/api/lock.h"

namespace holdfast {

void Lock::unlock() {
  try {
    release();
  } catch (const NotOwner&) {
    throw;
  } catch (const std::exception&) {  // told by release()
  } catch (const TaskCancelled&) {   // the process is being killed; its next port call says so again
  }
}

bool Lock::try_lock_leased(Duration, MonotonicTime, std::stop_token) {
  throw Unsupported("lock '" + key() + "': a hold of this kind has no lease of its own", key(), "", false);
}

void Lock::extend(Duration) {
  throw Unsupported("lock '" + key() + "': this kind of lock cannot be extended", key(), "", false);
}

std::string Lock::detach() {
  throw Unsupported("lock '" + key() + "': a hold of this kind stays where it is", key(), "", false);
}

bool Lock::adopt(const std::string&) {
  throw Unsupported("lock '" + key() + "': a hold of this kind stays where it is", key(), "", false);
}

}  // namespace holdfast
