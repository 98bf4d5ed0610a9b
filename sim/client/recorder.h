// Recorder: writes the history of a run, and tells others what happens while it happens.
//
// All times are the harness' one clock (World::now_ns); a lock's valid_until is translated from its process'
// clock. Nothing is recorded for a process that is dead. The recorder belongs to a World and, like it, to one
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/effects.h"
#include "checker/history/history.h"
#include "checker/holds/holds.h"
#include "lib/lock/api/lock.h"
#include "sim/client/acquisitions.h"
#include "sim/client/run_events.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class ClientRecorder;
class ThreadRecorder;

// What happened just now, for triggers and live displays. The views end with the callback.
struct RunEvent {
  RunEventKind kind;
  std::string_view client;  // "c1"
  std::string_view key;
  std::string_view id;    // acquisition "c1-7", "" if unknown
  std::string_view node;  // who granted, "" if nobody
  std::int64_t time_ns = 0;
};

struct EventFilter {
  RunEventKind event;
  std::string client = {};  // "": any
  std::uint64_t nth = 0;    // only the nth match since the subscription (from 1); 0: every one
};

class Recorder {
 public:
  explicit Recorder(World& world);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  checker::History& history() { return history_; }
  const checker::History& history() const { return history_; }
  World& world() { return world_; }

  // The recorder of one client; the same object for all incarnations of that name.
  ClientRecorder& client(const std::string& name);
  // The acquisition of any client whose command named `record`; 0: none did, or it is forgotten.
  checker::Symbol acquisition(std::string_view record);
  // A record that is not an acquisition's, but stands for all of `client`; and of which client, "": of none.
  void stands_for(std::string_view record, std::string_view client) { processes_.emplace(record, client); }
  std::string_view process_of(std::string_view record) const {
    const auto found = processes_.find(record);
    return found == processes_.end() ? std::string_view() : found->second;
  }

  // `callback` runs at once, on the task on which the event happens: it must not park, but it may crash or
  // pause processes (that task's own included) and wake others.
  using Callback = std::function<void(const RunEvent& event)>;
  std::uint64_t subscribe(EventFilter filter, Callback callback);
  void unsubscribe(std::uint64_t subscription);
  void publish(const RunEvent& event);
  // Nobody is told of anything any more.
  void end_subscriptions() { subscribers_.clear(); }
  bool anybody_listens() const { return !subscribers_.empty(); }

  // A named point of the story was reached, at `node` if given. Recorded each time.
  void mark(std::string_view name, std::string_view node = {});
  bool reached(std::string_view mark) const { return marks_.contains(mark); }
  // There are that many permits of `key` from now on.
  void permits(std::string_view key, int permits);
  // A fault acts, or an act of it is healed. `act`: that act's name; `at_once`: it leaves nothing to heal.
  struct FaultAct {
    std::string_view fault, act, description;
    bool at_once = false;
  };
  void fault(const FaultAct& act, bool acts);
  // What that act did to `party`; `value`: of a stepped clock, by how much.
  void effect(const FaultAct& act, checker::Effect effect, std::string_view party,
              std::int64_t value = checker::kAbsent);

  // Appends with the time of now. For those who record things of their own (the ledger).
  void append(checker::Event event);
  // The same with a time of its own, now or before. REQUIRES: nothing later is in the history.
  void append(checker::Event event, std::int64_t at_ns) {
    event.time_ns = at_ns;
    history_.append(event);
  }

 private:
  struct Subscriber {
    std::uint64_t number = 0;
    EventFilter filter;
    std::uint64_t matches = 0;
    Callback callback;
  };
  World& world_;
  checker::History history_;
  std::map<std::string, std::unique_ptr<ClientRecorder>, std::less<>> clients_;
  std::map<std::string, std::string, std::less<>> processes_;  // by record
  std::map<RunEventKind, std::vector<std::shared_ptr<Subscriber>>> subscribers_;
  std::map<std::string, std::uint64_t, std::less<>> marks_;
  std::uint64_t next_subscriber_ = 1;
};

// What one client process does; hand it to the client's locks as their observer.
class ClientRecorder : public LockObserver {
 public:
  ClientRecorder(Recorder& recorder, std::string name);
  ~ClientRecorder() override;

  const std::string& name() const { return name_; }
  Recorder& recorder() { return recorder_; }

  // A new incarnation: what follows is told of `process`, and each thread goes on under a new name.
  // `lease`: counts from the sending of the grant as the claim of a lock without a valid_until of its own.
  void started(Process& process, Duration lease);
  // REQUIRES: called when the process is crashed, before or after Process::crash().
  void crashed();
  bool live() const { return process_ != nullptr && process_->alive(); }

  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override;

  // The short name "c1-7" of an acquisition known by the lock's own (or the server's) name for it. First
  // come, first numbered.
  checker::Symbol acquisition(std::string_view record);
  // 0: no command of this client named it, or it is forgotten.
  checker::Symbol known_acquisition(std::string_view record);
  // The same as acquisition() for a command that asks for a grant: a record that was held and given up begins
  // anew.
  checker::Symbol asked_acquisition(std::string_view record);
  // The acquisition of `key` that this client was granted last; 0: none.
  checker::Symbol last_acquisition(std::string_view key) const;

 private:
  friend class ThreadRecorder;
  Acquisition* known(std::string_view record);  // named if it is new; null: ""
  Acquisition* asked(std::string_view record);
  checker::Symbol next_name();
  void append(const checker::Event& event);  // unless dead
  void publish(RunEventKind event, std::string_view key, checker::Symbol id, checker::Symbol node);
  std::int64_t translate(std::optional<MonotonicTime> time) const;
  // For the threads that there are.
  void make_room() {
    acquisitions_.room_for(threads_.size());
    renewals_.room_for(threads_.size());
  }

  Recorder& recorder_;
  std::string name_;
  checker::Symbol process_symbol_ = 0, watchdog_ = 0;
  Process* process_ = nullptr;
  Duration lease_{};
  std::uint64_t next_acquisition_ = 1;
  Acquisitions acquisitions_;
  std::map<std::string, checker::Symbol, std::less<>> last_;  // by key
  Renewals renewals_;
  std::map<int, std::uint64_t> generations_;   // thread -> unknown outcomes so far
  std::map<TaskId, ThreadRecorder*> threads_;  // by the task that each lives on
};

// What one thread of a client does, in program order. REQUIRES: made and used on the task of that thread.
class ThreadRecorder {
 public:
  ThreadRecorder(ClientRecorder& client, int thread);
  ~ThreadRecorder();
  ThreadRecorder(const ThreadRecorder&) = delete;
  ThreadRecorder& operator=(const ThreadRecorder&) = delete;

  // `mode` as Lock::mode(); `permits`: that it asks for, 0: a lock that does not count them. Both are told of
  // every event of this acquisition.
  void acquire_invoked(std::string_view key, std::string_view mode = "", int permits = 0);
  void acquire_ok(const Lock& lock);
  void acquire_failed(std::string_view key, std::string_view error);   // certainly not granted
  void acquire_unknown(std::string_view key, std::string_view error);  // info: goes on under a new name
  // `mode`: which of its holds of that key, where it has two; the one that it got last, if that says nothing.
  void release_invoked(std::string_view key, std::string_view mode = "");
  void interrupted(std::string_view key);  // while it holds the key
  void release_ok(std::string_view key);
  void release_failed(std::string_view key, std::string_view error);  // "not-owner" ends the hold as well
  void release_unknown(std::string_view key, std::string_view error);

  // The work under the hold is over, and it is not given back.
  void left(std::string_view key) { other(checker::EventType::ok, checker::kLeft, key, checker::kAbsent); }

  // The protected resource, or a latch; `f` is read, write, cas, sell, or resize, count_down, await. `shown`:
  // cas: what it must find; write: the fencing token that it shows.
  void resource_invoked(checker::Function f, std::string_view key, std::int64_t value = checker::kAbsent,
                        std::int64_t shown = checker::kAbsent);
  void resource_ok(checker::Function f, std::string_view key, std::int64_t value,
                   std::int64_t shown = checker::kAbsent);
  void resource_failed(checker::Function f, std::string_view key, std::string_view error);
  void resource_unknown(checker::Function f, std::string_view key, std::string_view error);  // a new name
  // The write `f` of a sale, and with it the sale: goes on under a new name.
  void sale_unknown(checker::Function f, std::string_view key, std::string_view error);

  // An operation that has no Function of its own ("debit"), of the resource: `f` is its name in the history.
  // Its effect on the resource is told by events of its own. No run event tells of it.
  void other_invoked(std::string_view f, std::string_view key, std::int64_t value) {
    other(checker::EventType::invoke, f, key, value);
  }
  void other_ok(std::string_view f, std::string_view key, std::int64_t value) {
    other(checker::EventType::ok, f, key, value);
  }
  void other_failed(std::string_view f, std::string_view key, std::int64_t value) {
    other(checker::EventType::fail, f, key, value);
  }
  // The same name goes on.
  void other_unknown(std::string_view f, std::string_view key, std::int64_t value) {
    other(checker::EventType::info, f, key, value);
  }

 private:
  friend class ClientRecorder;
  // What this thread does with one key. A thread may hold several keys at a time, and one key in two modes: a
  // writer that reads.
  struct Keyed {
    std::string text;                 // the key,
    checker::Symbol key = 0;          // and its symbol
    checker::Symbol id = 0;           // of the present hold, kept until its release is over
    checker::Symbol mode = 0;         // of the present or coming hold
    std::uint32_t permits = 0;        // of the same
    bool busy = false;                // an acquire or a release is under way
    Acquisition* hold = nullptr;      // the present hold, as long as its id is `id`
    int depth = 0;                    // of its re-entry
    std::uint64_t turn = 0;           // the greater, the later it was granted
    checker::Symbol* last = nullptr;  // its last acquisition; null: not looked up
  };
  Keyed& keyed(std::string_view key);  // which is busy, else held, the latest
  Keyed* held(std::string_view key, checker::Symbol mode);
  Keyed& new_keyed(std::string_view key);
  checker::Symbol hold_for(const Keyed& key) const;  // of that key, else the latest of any; 0: none
  void queued(std::string_view key, checker::Symbol node);
  checker::Event event(checker::EventType type, checker::Function f, const Keyed& key);
  checker::Event lock_event(checker::EventType type, checker::Function f, const Keyed& key);
  void finish(checker::EventType type, checker::Function f, const Keyed& key, std::string_view error);
  void other(checker::EventType type, std::string_view f, std::string_view key, std::int64_t value);
  void over(Keyed& key);
  void rename();

  ClientRecorder& client_;
  int thread_;
  checker::Symbol process_ = 0, owner_ = 0;
  TaskId task_ = 0;
  std::deque<Keyed> keys_;  // few: those that are held or busy, and the one that was used last
  std::uint64_t turns_ = 0;
};

}  // namespace holdfast::sim
