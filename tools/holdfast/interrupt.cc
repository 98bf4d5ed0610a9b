#include "tools/holdfast/interrupt.h"

#include <atomic>
#include <csignal>

namespace holdfast::tools {
namespace {

std::atomic<bool> told = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // written by a signal's handler

void on_interrupt(int signal) {
  told = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void keep_interrupts() {
  told = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool interrupted() { return told; }

}  // namespace holdfast::tools
