// Memory: what the command does when there is none left (`ulimit -v`, a container's limit on address space).
//
// A task of a world cannot give up halfway, so that std::bad_alloc would end everything there. Whoever runs
// worlds has a MemoryReserve: the first allocation that fails is served from the reserve, no further run is
// begun, and what is known is told. Everything else unwinds, and the command says so in one line. Exit 70.
#pragma once

namespace holdfast::tools {

inline constexpr const char* kNoMemory =
    "no memory left; raise the limit (ulimit -v), use fewer --jobs, or run less at once";

// Ends the program with kNoMemory and exit 70, not with a signal, when std::bad_alloc meets a thread that
// cannot unwind; tcmalloc does not say it in its own words. Call it first.
void tell_of_no_memory();

// A reserve, and a handler (std::set_new_handler) that gives it back when an allocation fails. A later
// allocation that fails ends the program with kNoMemory and exit 70. One at a time; the handler is for all
// threads.
class MemoryReserve {
 public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
};

// The reserve was needed: begin nothing more. Thread-safe.
bool memory_is_short();

}  // namespace holdfast::tools
