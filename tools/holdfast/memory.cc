#include "tools/holdfast/memory.h"

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

// Where tcmalloc says what it has to say; absent where the program has another malloc()
// (tools/cmake/allocator.cmake).
namespace tcmalloc {
extern void (*log_message_writer)(const char* message, int length) __attribute__((weak));
}

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

// tcmalloc tells of each failure before it reports it to its caller, which tells it in our words, and aborts
// where it has no room for its own lists.
void on_word_of_tcmalloc(const char* message, int length) {
  const std::string_view words(message, static_cast<std::size_t>(length));
  if (words.find("Out of memory") != words.npos) end();
  if (words.find("allocation failed") == words.npos)
    static_cast<void>(!write(STDERR_FILENO, words.data(), words.size()));
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

void tell_of_no_memory() {
  other_end = std::set_terminate(on_terminate);
  if (&tcmalloc::log_message_writer != nullptr) tcmalloc::log_message_writer = on_word_of_tcmalloc;
}

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
