#include "tools/holdfast/memory.h"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "tools/holdfast/exit_code.h"

namespace holdfast::tools {
namespace {

constexpr std::size_t kReserveBytes = 24u << 20;  // more than one run of the largest scenario that is shipped
constexpr int kMostPatience = 100;                // threads that failed while another one freed the reserve

std::mutex mutex;
void* reserve = nullptr;
int patience = kMostPatience;
std::atomic<bool> is_short = false;

// Allocates nothing.
[[noreturn]] void end() noexcept {
  for (const std::string_view part :
       {std::string_view("holdfast: "), std::string_view(kNoMemory), std::string_view("\n")})
    static_cast<void>(!write(STDERR_FILENO, part.data(), part.size()));
  _exit(kInternal);
}

void on_no_memory() {
  {
    const std::lock_guard guard(mutex);
    is_short = true;
    if (reserve != nullptr) {
      std::free(reserve);
      reserve = nullptr;
      return;
    }
    if (--patience <= 0) end();
  }
  sched_yield();
}

std::terminate_handler other_end = nullptr;

void on_terminate() {
  if (const std::exception_ptr error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      end();
    } catch (...) {  // told by the handler that was there before
    }
  }
  if (other_end != nullptr) other_end();
  std::abort();
}

}  // namespace

void keep_freed_memory() {
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 8 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 512 * kMiB);
  mallopt(M_TOP_PAD, kMiB);
}

void tell_of_no_memory() { other_end = std::set_terminate(on_terminate); }

MemoryReserve::MemoryReserve() {
  const std::lock_guard guard(mutex);
  reserve = std::malloc(kReserveBytes);
  patience = kMostPatience;
  is_short = false;
  std::set_new_handler(on_no_memory);
}

MemoryReserve::~MemoryReserve() {
  std::set_new_handler(nullptr);
  const std::lock_guard guard(mutex);
  std::free(std::exchange(reserve, nullptr));
}

bool memory_is_short() { return is_short; }

}  // namespace holdfast::tools
