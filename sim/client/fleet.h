// Fleet: the clients of a run, their incarnations, and what every workload does the same way. A workload is a
// Fleet whose run_thread() says what one thread does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/client/recorder.h"
#include "sim/client/workload.h"

namespace holdfast::sim {

// What one thread of a client works with. Lives on that thread.
class WorkThread {
 public:
  WorkThread(World& world, Process& process, const WorkloadOptions& options, WorkloadStats& stats,
             ClientRecorder& recorder, redis::Client& server, LockSpace* locks, LatchSpace* latches,
             const std::string& key, int number);

  // What the next round is: draws whether it only reads (WorkloadOptions::readers), and whether the thread is
  // interrupted in it (WorkloadOptions::interrupts); obtains the lock() (WorkloadOptions::evict: anew).
  void begin_round();
  bool only_reads() const { return shared_ != nullptr && lock_ == shared_; }
  // [parks] False: not granted (and a pause was made, so that nobody spins).
  bool acquire() { return acquire(*lock_); }
  // [parks] False: it was not given back as it was held. Where objects are dropped (WorkloadOptions::evict),
  // the thread keeps its own until then.
  bool release();
  // The same for any lock of this client: a thread may hold several.
  std::shared_ptr<Lock> obtain(const std::string& key) { return locks_->obtain(key); }
  std::shared_ptr<Lock> obtain_leased(const std::string& key, Duration lease) {
    return locks_->obtain_leased(key, lease);
  }
  std::shared_ptr<Latch> obtain_latch(const std::string& key) { return latches_->obtain(key); }
  bool acquire(Lock& lock);
  // [parks] Lock::try_lock(). False: not granted, and no pause was made.
  bool acquire_at_once() { return acquire_at_once(*lock_); }
  bool acquire_at_once(Lock& lock) {
    return ask(lock, [&lock] { return lock.try_lock(); });
  }
  bool release(Lock& lock);          // unless the workload leaves it out (WorkloadOptions::release)
  void failed() { failed_ = true; }  // the work that is done under the lock failed

  bool over() const;                    // nobody starts a round any more (WorkloadOptions::stop_at)
  void pause(const DurationRange& of);  // [parks] for a drawn time
  // [parks] The same while the lock is held: with on_lost = abort, ends when the loss is told.
  void work(const DurationRange& of) { work(of, *lock_); }
  void work(const DurationRange& of, const Lock& lock);
  // [parks] The loss was told, or is told when the lock is asked, and the workload heeds it.
  bool must_abort() const { return lock_ != nullptr && must_abort(*lock_); }
  bool must_abort(Lock& lock) const;

  Lock& lock() { return *lock_; }  // REQUIRES: the kind is a lock, and it is before release()
  // The side of lock() that many may hold at once.
  std::shared_ptr<Lock> obtain_shared() { return locks_->obtain_shared(exclusive_->key()); }
  redis::Client& server() { return server_; }
  int number() const { return number_; }
  std::optional<std::int64_t> token() const { return token_; }  // of the last grant
  ThreadRecorder& record() { return record_; }
  Process& process() { return process_; }
  WorkloadStats& stats() { return stats_; }

 private:
  World& world_;
  Process& process_;
  const WorkloadOptions& options_;
  WorkloadStats& stats_;
  ThreadRecorder record_;
  Rng pauses_, works_, interrupts_, readers_;
  redis::Client& server_;
  LockSpace* const locks_;     // null: a kind that is no lock
  LatchSpace* const latches_;  // null: a kind that is no latch
  const int number_;
  const bool counts_permits_, always_writes_;  // WorkloadOptions::writers
  const std::string key_;
  std::shared_ptr<Lock> exclusive_, shared_;   // shared: only where there are readers
  std::shared_ptr<Lock> lock_;                 // of this round
  std::optional<std::stop_source> interrupt_;  // of this round; nullopt: nobody interrupts it
  std::optional<std::int64_t> token_;
  bool failed_ = false;  // since the last grant

  void obtain_locks();
  bool ask(Lock& lock, const std::function<bool()>& call);  // [parks] and writes down what came of it
  bool wait_for(Lock& lock);                                // [parks] as this round waits
};

class Fleet : public Workload {
 public:
  Fleet(World& world, Recorder& recorder, WorkloadOptions options);

  void start() override;
  bool finished() const override { return running_ == 0; }
  bool wait_finished(MonotonicTime deadline) override;
  std::vector<std::string> clients() const override;
  Process* client(std::string_view name) override;
  void crash(std::string_view name) override;
  void restart(std::string_view name) override;
  void fork(std::string_view name, std::function<void()> refused) override;
  const WorkloadStats& stats() const override { return stats_; }
  void rest(Duration patience) override;

 protected:
  virtual void prepare() {}  // [parks] before the first client starts
  // What a thread locks, unless its workload knows better.
  virtual std::string key_of(const std::string& client, int number) const {
    static_cast<void>(client), static_cast<void>(number);
    return options_.key;
  }
  // All keys that the fleet locks.
  virtual std::set<std::string> keys() const;
  virtual bool shows_tokens() const { return false; }  // to the resource, whatever the options say
  virtual void run_thread(WorkThread& thread) = 0;

  World& world() { return world_; }
  Recorder& recorder() { return recorder_; }
  const WorkloadOptions& options() const { return options_; }

 private:
  struct Equipment;
  struct Client {
    std::string name;
    ClientRecorder* recorder = nullptr;
    Process* process = nullptr;
    std::uint64_t incarnation = 0;
    bool running = false;
    std::weak_ptr<Equipment> equipment = {};  // of its present incarnation
    int children = 0;
  };
  // What a client process works with. Members are destroyed in reverse order.
  struct Equipment {
    std::unique_ptr<Network> between;
    std::vector<std::unique_ptr<redis::Client>> servers;
    std::unique_ptr<LockSpace> locks;     // null: a kind that is no lock
    std::unique_ptr<LatchSpace> latches;  // null: a kind that is no latch
    Parker* owner = nullptr;              // its process has ended but for this: children use it still
  };
  void tell_permits();
  bool is_member(const std::string& node) const;
  std::vector<std::unique_ptr<redis::Client>> connect(const std::string& name, Process& process,
                                                      Network& network) const;
  Equipment equip(ClientRecorder& recorder, const std::string& name, Process& process) const;
  void launch(Client& client);
  // A new incarnation as `process`, which does `first` before anything else.
  void start_in(Client& client, Process& process, std::function<void()> first);
  void run_client(Client& client, Process& process);
  // [parks] As a child does with what it inherited from `parent`.
  void use_inherited(Client& child, Client& parent, const std::function<void()>& refused);
  // [parks] Drops unused lock objects every `evict`, until `stop`.
  void evict(Process& process, LockSpace& locks, const std::stop_token& stop);
  void done(Client& client, std::uint64_t incarnation);
  Client* find(std::string_view name);

  World& world_;
  Recorder& recorder_;
  const WorkloadOptions options_;
  const LockKind& kind_;
  WorkloadStats stats_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t running_ = 0;
  std::vector<Parker*> waiters_;
};

}  // namespace holdfast::sim
