// MutexPass: the mutex in one pass over the events, without joining operations first; the fast way to
// "holds".
#pragma once

#include "history.h"

namespace holdfast::checker {

// True: the history is linearizable as a mutex (Jepsen's reading: the order of lines counts, processes are
// the owners). False: it may not be, or this pass cannot say (an owner named apart from its process, a
// process that goes on after an unknown outcome, a release that failed while its process held);
// check_linearizable() then takes its time. One step an event, 5 bytes a string.
bool mutex_holds_in_one_pass(const History& history);

}  // namespace holdfast::checker
