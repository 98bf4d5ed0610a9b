// History: the events of one run, in the order in which they were recorded.
//
// Strings are interned: an Event has Symbols, and History::text() gives their text. An event takes 72 bytes;
// packed_history.h keeps millions of them in less. The file formats and every field: checker/HISTORY.md.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/value.h"

namespace holdfast::checker {

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
  append,      // of a key of a store: `value` is put behind what is there
  enqueue,     // of a queue: `value` is put in
  dequeue,     // of a queue: ok: `value` was taken out, nothing: the queue was empty
  add,         // of a set: `value` is put in. of a counter: it grows by `value`
  txn,         // of several registers at once: `value` is the list of its reads and writes
  other,       // any other function, of a workload or a foreign history; `error` has its name
};

// A time that is not there. Times lie strictly between -kMostTime and kMostTime.
inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 62;

struct Event {
  std::int64_t time_ns = 0;  // the harness' one clock
  std::int64_t valid_until_ns =
      kAbsent;         // same clock; the recorder translates it from the client's lease clock
  Value token;         // acquire: the fencing token. cas: the expected value. write: the token it showed
  Value value;         // resource: stock read or written. store_*: 1: it had that effect, 0: it had none
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
  Value number(std::int64_t number);           // any number
  Value number(std::string_view digits);       // REQUIRES: the canonical form of is_whole_number()
  Value text_value(std::string_view text) { return {Value::Kind::text, intern(text)}; }
  Value structure(std::string_view text) { return {Value::Kind::structure, intern(text)}; }
  // As messages write it: nil, 17, "a", :b, [1 2].
  std::string shown(Value value) const;
  // The order of two whole numbers of any length. nullopt: one of them is something else.
  std::optional<std::strong_ordering> compare(Value a, Value b) const;
  // Puts small numbers of the same order in place of numbers of any length; what is empty stays so. If one is
  // no whole number, changes nothing and returns it. O(n log n), O(n) where all are small already.
  std::optional<Value> rank(const std::vector<Value*>& values) const;
  std::size_t symbols() const;  // every Symbol is smaller
  void append(const Event& event) { events_.push_back(event); }
  const std::vector<Event>& events() const { return events_; }
  void reserve(std::size_t events);
  // A copy with only the events at `positions` (ascending), strings included.
  History subset(const std::vector<std::size_t>& positions) const;
  // A history without events that shares this one's table of strings.
  History names() const;
  // The file was of a Jepsen format: what failed never happened. Told by the reader, once for all histories
  // that share a table of strings.
  void set_jepsen();
  bool jepsen() const;

 private:
  Symbol intern_value(std::string_view text);
  struct Table;
  std::shared_ptr<Table> table_;
  std::vector<Event> events_;
};

// A fencing token that is written as text is the number that it names. The expected value of a
// compare-and-set stays what it is.
void normalise_token(Event& event, History& history);

std::string_view to_string(EventType type);
std::string_view to_string(Function f);  // as in the file format: "acquire", "store-grant", ...
bool parse(std::string_view text, EventType& out);
// Takes other names too: lock and unlock, get and put.
bool parse(std::string_view text, Function& out);

// How an event of a function stands to others of its process.
enum class Pairing : std::uint8_t {
  lock,      // acquire, release: an invocation, then its completion; one at a time for each process
  resource,  // read, write, cas, append, ...: likewise, and apart from those of the lock
  sale,      // sell: likewise; what it reads and writes lies within it
  latch,     // count-down, await: likewise
  many,      // renewals, the ledger, functions that have no name here: several may be open at a time
  alone      // one event says it all: lost, queue, crash, fault, effect, mark
};
Pairing pairing_of(Function f);

}  // namespace holdfast::checker
