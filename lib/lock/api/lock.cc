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

}  // namespace holdfast
