// One pipelined connection to one node, shared by many tasks.
//
// Commands are written in the order in which they come and answered in that order. There are two roles, each
// held by at most one task at a time, always without the mutex while it parks:
//   writer  hands everything that has been queued meanwhile to the network in one go;
//   reader  reads replies and settles the calls that they belong to.
// A call in the foreground takes whichever role is free; when it leaves it tells the oldest call that still
// waits to take over. A background call takes none: where no foreground call is there to serve it, a task of
// this connection's own (role "reader") does, which exists only while background calls wait (or while a
// writer gave up and nobody is there to finish its work). So a background task that does not run for a while
// holds up nobody. (When no task can be started, background calls serve themselves.) A call that a stop
// request can end is served like one in the background, because who reads from the network cannot be stopped.
//
// A call that gives up leaves its place in the order behind; its reply is dropped when it comes. When nothing
// at all has come for `silence` since such a call was sent, the connection is broken off.
//
// Thread safety: all members, from any task. Must be owned by a std::shared_ptr: the tasks in it keep it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/command.h"
#include "lib/redis/reply.h"
#include "lib/redis/reply_reader.h"
#include "lib/redis/ring.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Settings {
    Duration silence = std::chrono::seconds(1);
    std::size_t max_pending = 65536;  // replies outstanding, dropped ones included
    std::size_t max_reply = ReplyReader::kUnbounded;
  };
  enum class Outcome {
    replied,
    timed_out,
    broken,    // broken() says why
    protocol,  // broken: what came back is not RESP
    full,      // max_pending reached; nothing sent
    stopped,   // by `stop`
  };
  struct Result {
    Outcome outcome = Outcome::replied;
    bool may_have_executed = false;  // false: no byte of it was handed to the network
    MonotonicTime sent_at;
  };

  Connection(Runtime& runtime, std::unique_ptr<Stream> stream, std::size_t node, Settings settings);
  ~Connection();

  std::size_t node() const noexcept { return node_; }

  // [parks] Sends the commands back to back and waits for their replies. `now`: just read from the clock.
  // REQUIRES: as many replies as commands, at least one; a stop request unparks the calling task.
  Result execute(std::span<const CommandView> commands, std::span<Reply> replies, MonotonicTime now,
                 MonotonicTime deadline, bool background, const std::stop_token& stop = {});

  std::atomic<bool> proved{false};  // the owner's note: it has answered a call

  bool usable() const noexcept { return usable_.load(std::memory_order_acquire); }
  // No new calls; what is under way goes on.
  void retire() noexcept { usable_.store(false, std::memory_order_release); }
  bool idle();  // nothing outstanding
  std::string why_broken();

  // [parks] Breaks the connection and joins its task.
  void shutdown();

 private:
  enum class State { waiting, replied, timed_out, broken };

  // A call under way; on its caller's stack.
  struct Pending {
    Parker* parker = nullptr;
    std::span<Reply> replies;
    std::size_t received = 0;
    std::uint64_t sequence = 0;
    MonotonicTime deadline;
    MonotonicTime sent_at;
    // Set under the mutex. A task that sees without the mutex that its call is settled may leave once it was
    // `woken`, too: then nobody touches this or the task's parker any more.
    std::atomic<State> state = State::waiting;
    std::atomic<bool> woken = false;
    const std::stop_token* stop = nullptr;
    bool background = false;
    bool may_have_executed = false;
    bool parked = false;  // in the list of calls that are in neither role and can take one over
    bool told = false;    // to do so
    Pending *next = nullptr,
            *previous = nullptr;  // in that list; then, by `next`, in the list of calls to be woken
  };
  // Its place in the order of replies.
  struct Entry {
    Pending* pending = nullptr;  // null: given up
    std::uint64_t begin = 0;
    MonotonicTime sent_at;
    std::size_t remaining = 0;
  };
  class PendingGuard;
  using Lock = std::unique_lock<Mutex>;

  void enqueue(Pending& pending, std::span<const CommandView> commands);
  void wait(Lock& lock, Pending& pending);
  void try_last_moment(Lock& lock, Pending& pending);
  void gather(Lock& lock);
  bool write_some(Lock& lock, Pending* self, MonotonicTime deadline);
  bool read_some(Lock& lock, Pending* self, MonotonicTime deadline);
  void deliver(Pending* self);
  void settle(Pending& pending, State state, Pending* self);
  void wake_settled(Lock& lock);
  void give_up(Pending& pending);
  void break_off(std::string why, bool protocol = false);
  void check_silence();
  void hand_on();
  int tell_parked();
  void park(Pending& pending);
  void unpark(Pending& pending);
  bool anybody() const;
  bool task_needed() const;
  MonotonicTime latest_deadline() const;
  void start_task();
  void serve_themselves();
  void run_task();
  void expire_background();
  MonotonicTime silent_since() const;

  Runtime& runtime_;
  const std::unique_ptr<Stream> stream_;
  const std::size_t node_;
  const Settings settings_;
  std::atomic<bool> usable_{true};

  Mutex mutex_;  // guards everything below; never held across a park
  Ring<Entry> entries_;
  Pending *parked_ = nullptr, *last_parked_ = nullptr;  // foreground calls, longest parked first
  Pending* untold_ = nullptr;  // the first of them that was not told to take over; all before it were
  int told_ = 0;               // how many were told and have not come yet
  Pending *settled_ = nullptr, *last_settled_ = nullptr;  // to be woken when the mutex is free again
  std::uint64_t first_sequence_ = 0;                      // of entries_.front()
  std::size_t outstanding_ = 0;                           // replies
  std::size_t background_waiting_ = 0;
  MonotonicTime background_until_{};  // the latest deadline of background calls since there were none

  bool writing_ = false;
  unsigned writes_alone_ = 0;    // writes left that do not gather; the last wait gathered nobody
  std::string out_;              // queued
  std::string taken_;            // in the writer's hands
  std::uint64_t out_begin_ = 0;  // position in the stream of out_'s first byte
  std::uint64_t handed_ = 0;     // bytes that the network took

  bool reading_ = false;
  std::vector<char> buffer_;  // the reader's
  ReplyReader reader_;
  std::size_t last_batch_ = 0;  // calls settled by the last read
  MonotonicTime last_heard_;

  bool broken_ = false;
  bool protocol_ = false;
  std::string why_;

  bool task_must_write_ = false;  // nobody else can
  BackgroundTask task_;
};

}  // namespace holdfast::redis
