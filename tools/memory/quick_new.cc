// Operator new and delete of programs that run many worlds: what is small comes from lists of free blocks, by
// size, that belong to the thread. A storm spends an eighth of its time in malloc() and free(); here the
// usual one takes a few instructions, and what a world gave back the next one gets, still in the caches and
// mapped by large pages.
//
// Small blocks lie in one range of addresses, in pieces of kPiece for one size each, so that a delete that is
// not told the size finds it at the beginning of the piece. The range is reserved, not taken; where it cannot
// be (ulimit -v) everything comes from malloc(). Memory of small blocks is not given back to the system. A
// block may be freed by another thread: then it goes to that one's list. The lists of a thread that ends are
// taken over by the next one that begins.
//
// Linked into programs, never into a library: an application's memory is its own business. And not used where
// the library is measured (`holdfast bench`).
#include "tools/memory/quick_new.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "lib/runtime/retry_allocation.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOLDFAST_OWN_NEW 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOLDFAST_OWN_NEW 0
#endif
#endif
#ifndef HOLDFAST_OWN_NEW
#define HOLDFAST_OWN_NEW 1
#endif

#if HOLDFAST_OWN_NEW

namespace {

constexpr std::size_t kGrain = 16, kLargest = 1024, kSizes = kLargest / kGrain + 1;
constexpr std::size_t kPiece = 64 * 1024, kHead = 64, kHugePage = 2 * 1024 * 1024;
constexpr std::size_t kRange = std::size_t{1} << 36;

struct Free {
  Free* next;
};

struct Lists {
  struct Size {
    Free* free = nullptr;
    char *next = nullptr, *end = nullptr;  // of the present piece: not given out yet
  };
  Size sizes[kSizes];
  Lists* next_spare = nullptr;
};

struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;  // 0: there is none
  std::atomic<std::size_t> used = 0;
};

constinit Range range;
constinit std::atomic<bool> asked_for = false;
constinit thread_local Lists* mine = nullptr;
constinit thread_local bool over = false;  // this thread is about to end
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t ends;
pthread_mutex_t spare_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit Lists* spare = nullptr;

void leave(void* lists) {
  over = true;
  mine = nullptr;
  pthread_mutex_lock(&spare_mutex);
  static_cast<Lists*>(lists)->next_spare = spare;
  spare = static_cast<Lists*>(lists);
  pthread_mutex_unlock(&spare_mutex);
}

void begin() {
  if (pthread_key_create(&ends, leave) != 0) return;
  void* const got = ::mmap(nullptr, kRange + kHugePage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return;
  range.begin = (reinterpret_cast<std::uintptr_t>(got) + kHugePage - 1) / kHugePage * kHugePage;
  ::madvise(reinterpret_cast<void*>(range.begin), kRange, MADV_HUGEPAGE);
  range.bytes = kRange;
}

// Null: this thread has none (any more).
Lists* take_lists() {
  if (over || !asked_for.load(std::memory_order_relaxed)) return nullptr;
  pthread_once(&once, begin);
  if (range.bytes == 0) return nullptr;
  pthread_mutex_lock(&spare_mutex);
  Lists* lists = spare;
  if (lists != nullptr) spare = lists->next_spare;
  pthread_mutex_unlock(&spare_mutex);
  if (lists == nullptr) {
    void* const memory = std::malloc(sizeof(Lists));
    if (memory == nullptr) return nullptr;
    lists = new (memory) Lists;
  }
  if (pthread_setspecific(ends, lists) != 0) {
    leave(lists);
    return nullptr;
  }
  return mine = lists;
}

void* from_malloc(std::size_t bytes) {
  void* const memory = holdfast::retry_allocation([bytes] { return std::malloc(bytes == 0 ? 1 : bytes); });
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

bool in_range(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) - range.begin < range.bytes;
}

__attribute__((noinline)) void* take_slowly(std::size_t bytes) {
  Lists* const lists = mine != nullptr ? mine : take_lists();
  if (lists == nullptr) return from_malloc(bytes);
  const std::size_t size = (bytes + kGrain - 1) / kGrain;
  Lists::Size& of = lists->sizes[size];
  if (of.free != nullptr) {  // of the thread that had these lists before
    Free* const block = of.free;
    of.free = block->next;
    return block;
  }
  const std::size_t block_bytes = size == 0 ? kGrain : size * kGrain;
  if (static_cast<std::size_t>(of.end - of.next) < block_bytes) {
    const std::size_t at = range.used.fetch_add(kPiece, std::memory_order_relaxed);
    if (at + kPiece > range.bytes) {
      range.used.fetch_sub(kPiece, std::memory_order_relaxed);
      return from_malloc(bytes);
    }
    char* const piece = reinterpret_cast<char*>(range.begin + at);
    *reinterpret_cast<std::size_t*>(piece) = size;
    of.next = piece + kHead;
    of.end = piece + kPiece;
  }
  char* const block = of.next;
  of.next += block_bytes;
  return block;
}

inline void give_back(void* block, std::size_t size) noexcept {
  Lists* const lists = mine != nullptr ? mine : take_lists();
  if (lists == nullptr) return;  // the thread ends: a few blocks are lost
  Lists::Size& of = lists->sizes[size];
  of.free = new (block) Free{of.free};
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > kLargest) return from_malloc(bytes);
  Lists* const lists = mine;
  if (lists == nullptr) return take_slowly(bytes);
  Lists::Size& of = lists->sizes[(bytes + kGrain - 1) / kGrain];
  Free* const block = of.free;
  if (block == nullptr) return take_slowly(bytes);
  of.free = block->next;
  return block;
}

void operator delete(void* block) noexcept {
  if (!in_range(block)) return std::free(block);
  const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(block) / kPiece * kPiece;
  give_back(block, *reinterpret_cast<const std::size_t*>(piece));
}

void operator delete(void* block, std::size_t bytes) noexcept {
  if (!in_range(block)) return std::free(block);
  give_back(block, (bytes + kGrain - 1) / kGrain);
}

void holdfast::tools::keep_small_blocks() {
  constexpr int kKept = 256 * 1024 * 1024;
  mallopt(M_MMAP_THRESHOLD, kKept / 8);
  mallopt(M_TRIM_THRESHOLD, kKept);
  asked_for = true;
}

#else

void holdfast::tools::keep_small_blocks() {}

#endif
