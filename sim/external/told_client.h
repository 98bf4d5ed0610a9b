// ToldClient: what one foreign client told, as events of the history.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/client/recorder.h"
#include "sim/client/workload.h"
#include "sim/external/told_line.h"

namespace holdfast::sim {

// A run event that is published when its whole round is in the history.
struct ToldEvent {
  RunEventKind kind{};
  std::string client, key, id, node;
};

class ToldClient {
 public:
  // `key`: of lines that name none.
  ToldClient(Recorder& recorder, WorkloadStats& stats, std::string name, std::string key);

  // When something was told: at the end of its round, and not before.
  struct Moment {
    std::int64_t at_ns = 0, not_before_ns = 0;
  };
  // `node`: who answered it last, "" nobody. Throws BadLine: the line does not fit those before it.
  void tell(const ToldLine& line, const Moment& when, std::string_view node, std::vector<ToldEvent>& events);

  // A change of the protected resource by the effects port, which begins and ends at `at_ns`. `f`: read,
  // write or cas; `sold`: a unit was sold with it. `failed`: why it was refused, "" it was not.
  struct Effect {
    checker::Function f = checker::Function::read;
    bool sells = false;
    std::int64_t value = checker::kAbsent, shown = checker::kAbsent;
    int thread = 0;
    std::string_view failed = {};
  };
  void take_effect(const Effect& effect, std::int64_t at_ns, std::vector<ToldEvent>& events);

  // It died or ended: nothing of it goes on, and threads that begin anew have new names.
  void over();
  // It holds something, or has something open.
  bool busy() const;
  std::uint64_t lines() const { return lines_; }

 private:
  struct Open {
    checker::Function f{};
    std::string key;
    checker::Symbol id = 0, mode = 0;
    std::uint32_t permits = 0;
  };
  struct Thread {
    std::uint64_t generation = 0;
    std::optional<Open> lock, resource, sale;
    std::map<std::string, Open, std::less<>> holds;  // by key
  };

  void tell_lock(const ToldLine& line, const std::string& key, const Moment& when, std::string_view node,
                 std::vector<ToldEvent>& events);
  void tell_watchdog(const ToldLine& line, const std::string& key, const Moment& when, std::string_view node,
                     std::vector<ToldEvent>& events);
  void tell_resource(const ToldLine& line, const std::string& key, const Moment& when,
                     std::vector<ToldEvent>& events);
  checker::Event event(const ToldLine& line, const std::string& key, int thread);
  std::string process_name(int thread, const Thread& its) const;
  const Open* hold_of(const std::string& key, int thread) const;  // of any thread; null: none
  checker::Symbol hold_for(const std::string& key, const Thread& thread) const;
  void publish(RunEventKind kind, const std::string& key, checker::Symbol id, std::string_view node,
               std::vector<ToldEvent>& events) const;

  Recorder& recorder_;
  WorkloadStats& stats_;
  const std::string name_, key_;
  std::map<int, Thread> threads_;
  std::map<std::string, checker::Symbol, std::less<>> renewals_;  // open ones by key
  std::uint64_t next_ = 1, lines_ = 0;
};

}  // namespace holdfast::sim
