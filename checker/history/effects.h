// Effects of faults: what one act of a fault did to a process, as the fault itself tells it in the history.
//
//   {"process":"nemesis","type":"info","f":"effect","key":"gc","id":"gc#1","mode":"paused","node":"c1"}
//
// `key` is the fault, `id` one act of it (its `fault` events have the same two), `mode` the effect, and
// `node` the party that it met: a node ("r1"), a client ("c1"), or one role of a client ("c1/watchdog").
// Checks and pictures read these; they know no names of faults.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::checker {

enum class Effect : std::uint8_t {
  paused,
  resumed,  // ends the pause of the same act
  crashed,
  restarted,      // after a crash of any act
  promoted,       // a replica became a primary
  demoted,        // became a replica of another node; what it alone had is lost when it synchronises
  lagging,        // a replica gets its primary's writes late, or not at all
  caught_up,      // ends the lag of the same act
  clock_stepped,  // `value`: nanoseconds, negative for backwards
  clock_drifts    // `value`: from now on so many parts per million fast, negative for slow
};
std::string_view to_string(Effect effect);  // "paused", "caught-up", ...
bool parse(std::string_view text, Effect& out);

// The mode of a `fault` event whose act is over as soon as it happened.
inline constexpr std::string_view kAtOnce = "at-once";

// The effect that `event` tells. False: it is no `effect` event, or of a kind that this build does not know.
bool effect_of(const History& history, const Event& event, Effect& out);

// The effect changes what nodes store, or which of them is asked.
bool changes_stores(Effect effect);

// The faults whose acts are not over at the end of the history: what they did was neither healed nor undone
// by another fault (a killed process that is started again). By act, in the order of their ids.
// others_than_clients: without acts that did something to clients of the lock, and to nobody else.
enum class Unhealed : std::uint8_t { all, others_than_clients };
std::vector<Symbol> unhealed_faults(const History& history, Unhealed which = Unhealed::all);

// `event` is of a fault or a mark: it belongs to the story, not to a process under test.
inline bool of_harness(Function f) {
  return f == Function::fault || f == Function::effect || f == Function::mark;
}

// When which party was paused. A pause ends when its own act resumes it, or when the client dies.
class Pauses {
 public:
  explicit Pauses(const History& history);

  // When `party` has run for `running_ns` from `time_ns` on, the time of its pauses not counted; 0: when it
  // runs then or next. kForever when it does not run so long again.
  std::int64_t has_run(std::string_view party, std::int64_t time_ns, std::int64_t running_ns) const;
  bool any(std::string_view party) const { return intervals_.contains(party); }

 private:
  // By party: [begin, end), sorted.
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>, std::less<>> intervals_;
};

}  // namespace holdfast::checker
