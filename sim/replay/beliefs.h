// Beliefs: what each thread of a client believes, read off a history event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/history/history.h"
#include "checker/holds/wording.h"
#include "sim/replay/replay.h"

namespace holdfast::sim {

class Beliefs {
 public:
  // Puts the threads to `replay`. Both outlive it.
  Beliefs(const checker::History& history, Replay& replay);
  // The next event, by its position: puts to the replay what is told of it, and what is believed from then
  // on. `at_ns`: its time since the first event.
  void take(std::size_t position, std::int64_t at_ns);
  // Those of `thread`s whose process that is; -1: none.
  std::int64_t thread_of(checker::Symbol process) const { return thread_of_[process]; }

 private:
  using Event = checker::Event;
  std::string text(checker::Symbol symbol) const;
  std::optional<std::int64_t> until(const Event& event) const;
  void step(std::int64_t at_ns, Replay::Kind kind, std::size_t at);
  void tell(const Event& event, std::int64_t at_ns);
  void pause(const Event& event, std::int64_t at_ns);
  void die(const Event& event, std::int64_t at_ns);
  void believe(std::size_t thread, std::int64_t at_ns);
  Replay::Claim& claim(std::size_t thread, const std::string& key, std::int64_t at_ns);
  void drop(std::size_t thread, const std::string& key);
  void acquire(std::size_t thread, const Event& event, std::int64_t at_ns);
  void release(std::size_t thread, const Event& event, std::int64_t at_ns);
  void work(std::size_t thread, const Event& event);
  // A renewal, or that a hold is lost: of the thread that has it, whoever tells.
  void told_of_hold(const Event& event, std::int64_t at_ns);

  const checker::History& history_;
  Replay& replay_;
  const checker::Wording words_;
  std::vector<std::int64_t> thread_of_;                        // by symbol of the process
  std::vector<Replay::Belief> now_;                            // by thread
  std::map<std::pair<std::size_t, std::string>, int> depths_;  // of re-entry, by thread and key
};

}  // namespace holdfast::sim
