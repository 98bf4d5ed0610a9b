#include "sim/comparators/process_tree.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/testing/server/guardian.h"
#include "lib/testing/server/processes.h"

namespace holdfast::sim {
namespace {

constexpr int kLongestDeathMs = 10'000;

// Until the process of that descriptor is gone.
void wait_for(int pid_fd) {
  pollfd end{.fd = pid_fd, .events = POLLIN, .revents = 0};
  while (pid_fd >= 0 && ::poll(&end, 1, kLongestDeathMs) < 0 && errno == EINTR) {
  }
}

// Until a process that was sent SIGSTOP stands still, or is gone: the kernel stops it when it runs next.
// One whose disk does not answer: for ten seconds.
void wait_stopped(int pid) {
  for (int tries = 0; tries < kLongestDeathMs; ++tries) {
    const char state = state_of(pid);
    if (state == 'T' || state == 't' || state == 'Z' || state == 'X') return;
    ::poll(nullptr, 0, 1);  // a millisecond: nothing tells when somebody else's child stands still
  }
}

}  // namespace

void ProcessTree::pause(ChildProcess& root) {
  root.pause();
  // Who was started before its parent stood still may have been missed by the first look.
  for (;;) {
    const std::size_t before = paused_.size();
    for (const int pid : descendants_of(root.pid())) {
      if (std::find(paused_.begin(), paused_.end(), pid) != paused_.end()) continue;
      guardian::announce(pid);
      ::kill(pid, SIGSTOP);
      paused_.push_back(pid);
    }
    if (paused_.size() == before) return;
    std::for_each(paused_.begin() + static_cast<std::ptrdiff_t>(before), paused_.end(), wait_stopped);
  }
}

void ProcessTree::resume(ChildProcess& root) {
  for (const int pid : std::exchange(paused_, {})) {
    guardian::forget(pid);
    ::kill(pid, SIGCONT);
  }
  root.resume();
}

void ProcessTree::end(ChildProcess& root, int signal) {
  const int end = static_cast<int>(::syscall(SYS_pidfd_open, root.pid(), 0));
  if (paused_.empty() && end >= 0 && root.running() && ::kill(root.pid(), signal) == 0) wait_for(end);
  if (end >= 0) ::close(end);
  kill(root);
}

void ProcessTree::kill(ChildProcess& root) {
  pause(root);
  const std::vector<int> all = std::exchange(paused_, {});
  std::vector<int> ends;  // of those that are no children of ours: readable when they are gone
  for (const int pid : all) {
    ends.push_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ::kill(pid, SIGKILL);
  }
  root.kill();
  for (std::size_t i = 0; i < all.size(); ++i) {
    wait_for(ends[i]);
    if (ends[i] >= 0) ::close(ends[i]);
    guardian::forget(all[i]);
  }
}

}  // namespace holdfast::sim
