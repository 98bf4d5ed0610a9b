// History: the events of one run, in the order in which they were recorded.
//
// Strings are interned: an Event has Symbols, and History::text() gives their text. An event takes 72 bytes;
// packed_history.h keeps millions of them in less. The file formats and every field: checker/HISTORY.md.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::checker {

// Index into a History's table of strings; 0 is the empty string and means "absent".
using Symbol = std::uint32_t;

enum class EventType : std::uint8_t { invoke, ok, fail, info };
enum class Function : std::uint8_t {
  acquire,
  release,
  renew,
  lost,  // of a lock
  read,
  write,
  cas,   // of the protected resource: `token` is the expected value, `value` the new one
  sell,  // of the protected resource: ok: `permits` units were sold (absent: 1)
  // The ledger: what a command did to the server's record of a lock, as the proxy saw it. invoke: the command
  // was forwarded to the server; ok: its reply was seen.
  store_grant,
  store_remove,
  store_extend,
  // process "nemesis": value 1: it acts, 0: it is healed; `key` is the fault, `id` this act of it; `error` is
  // its kind; mode "at-once": over as soon as it acted, nothing heals
  fault,
  mark,    // process "nemesis": a named point of the scenario was reached; `key` is the name
  crash,   // the process is the client that died; its holds end here
  queue,   // ok: the client was told that the process' open acquire waits; with `id`: the ledger shows it
  resize,  // of a semaphore: `value` is its permits from now on; of a latch: the count that it starts with
  count_down,  // of a latch: one less
  await,       // of a latch: ok: it was open
  effect,      // process "nemesis": what an act of a fault did to whom (effects.h)
  other,       // any other function, of a workload or a foreign history; `error` has its name
};

inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

// A value that is text ("a", :initial) is stored as its symbol, in the numbers right above kAbsent.
inline constexpr std::int64_t text_value(Symbol symbol) { return kAbsent + 1 + std::int64_t{symbol}; }
inline constexpr bool is_text_value(std::int64_t value) {
  return value > kAbsent && value <= kAbsent + 1 + std::int64_t{std::numeric_limits<Symbol>::max()};
}
inline constexpr Symbol symbol_of_value(std::int64_t value) {
  return static_cast<Symbol>(value - kAbsent - 1);
}

struct Event {
  std::int64_t time_ns = 0;  // the harness' one clock
  std::int64_t valid_until_ns =
      kAbsent;  // same clock; the recorder translates it from the client's lease clock
  std::int64_t token = kAbsent;
  std::int64_t value =
      kAbsent;         // resource: stock read or written. store_*: 1: it had that effect, 0: it had none
  Symbol process = 0;  // "c1/0"; "c1/watchdog" for renewals; "c1/0#1" after an unknown outcome; "nemesis"
  Symbol key = 0;
  Symbol id = 0;  // acquisition ("c1-7"); store_*: the acquisition for which the command was sent
  Symbol owner = 0;
  Symbol mode = 0;  // "" (exclusive), "read", "write", ...
  Symbol node = 0;
  Symbol error = 0;
  std::uint32_t permits = 0;  // 0: absent (counts as 1)
  EventType type = EventType::invoke;
  Function f = Function::other;
};

// Not thread-safe. Copies of one History share their table of strings; a subset has its own.
class History {
 public:
  History();
  Symbol intern(std::string_view text);        // amortised O(length)
  std::string_view text(Symbol symbol) const;  // valid as long as the History
  std::size_t symbols() const;                 // every Symbol is smaller
  void append(const Event& event) { events_.push_back(event); }
  const std::vector<Event>& events() const { return events_; }
  void reserve(std::size_t events) { events_.reserve(events); }
  // A copy with only the events at `positions` (ascending), strings included.
  History subset(const std::vector<std::size_t>& positions) const;
  // A history without events that shares this one's table of strings.
  History names() const;

 private:
  struct Table;
  std::shared_ptr<Table> table_;
  std::vector<Event> events_;
};

std::string_view to_string(EventType type);
std::string_view to_string(Function f);  // as in the file format: "acquire", "store-grant", ...
bool parse(std::string_view text, EventType& out);
bool parse(std::string_view text, Function& out);

}  // namespace holdfast::checker
