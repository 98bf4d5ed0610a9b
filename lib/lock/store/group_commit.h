// GroupCommit: one WAIT for all that is written meanwhile.
//
// WAIT keeps the connection on which it came: the server reads no further command from it until enough
// replicas have acknowledged what it has written, or the WAIT's time is over. So calls that send a WAIT each
// follow one another, a round trip from the primary to its replicas for each, and with many tasks and distant
// replicas the last of them are answered long after their deadlines, and all tries after that as well. Here a
// call that comes alone goes out at once; those that come while one is under way go out together when that
// has ended, with one WAIT behind all of them, up to 1,024 commands and half of what the client may have
// pending. So a call of some hundreds waits for two round trips at most.
//
// The idea is that of databases that write many transactions to the disk at once: DeWitt et al.,
// Implementation Techniques for Main Memory Database Systems, SIGMOD 1984, 4. WAIT:
// https://redis.io/docs/latest/commands/wait/
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"
#include "lib/runtime/task_pool.h"

namespace holdfast {

// Thread safety: any task.
class GroupCommit {
 public:
  using Command = std::vector<std::string_view>;
  // The arguments of a WAIT. Calls that wait for equally many go out together, with the longest timeout.
  struct Wait {
    std::size_t replicas = 0;
    Duration timeout{};
  };
  // One call: what is sent before the WAIT, and what is sent behind it.
  struct Call {
    std::span<const Command> before;
    // Behind `before`: a question whose answer is as good when it was asked behind all of them. It goes out
    // once for those that ask the same; empty: none.
    Command shared = {};
    Wait wait;
    std::span<const Command> after = {};
    std::uint16_t slot = 0;  // in a Cluster: of its keys. Only calls of one slot go out together.
  };

  // That of all who wait for replicas over this client: locks of several objects have one connection, on
  // which the WAIT of one would keep the others. Made where there is none in use. `client` outlives it.
  static std::shared_ptr<GroupCommit> of(redis::Client& client);

  // `client` outlives it; its calls go over `lane`, which nobody else uses.
  GroupCommit(redis::Client& client, redis::Lane lane);
  // [parks] Until nothing is under way. REQUIRES: nobody is in call().
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // [parks] The answers to `before`, `shared`, the WAIT and `after`, in this order; error replies stand in
  // place. Throws redis::Error as Client::call_all() does; a call whose turn comes too late for its deadline
  // was not executed. `options.lane` does not count. Where no task can be started all go out one by one. A
  // caller that does not run for a while holds up the others. Complexity: of the size of the call.
  std::vector<redis::Answer> call(const Call& call, const redis::CallOptions& options);

 private:
  struct Ticket;
  using TicketPtr = std::shared_ptr<Ticket>;
  using Lock = std::unique_lock<Mutex>;
  using Line = std::list<TicketPtr>;  // of calls that wait while another one is under way, as they came

  std::vector<redis::Answer> send_alone(const Call& call, const redis::CallOptions& options);
  std::vector<redis::Answer> wait_in_line(Lock& lock, const Call& call, const redis::CallOptions& options);
  void took(const std::vector<redis::Answer>& answers);
  void gave_up(MonotonicTime sent_at, const redis::Error& error);
  void next_in_line(std::uint16_t slot);
  void serve(std::uint16_t slot);
  std::vector<TicketPtr> take_group(Line& line) const;
  void send_group(const std::vector<TicketPtr>& group);

  redis::Client& client_;
  const redis::Lane lane_;
  const std::uint64_t made_at_fork_;
  std::stop_source closing_;
  Mutex mutex_;                         // of:
  std::map<std::uint16_t, Line> busy_;  // the slots for which a call is under way
  Duration took_{};                     // what was answered last, from when it was sent; or longer than this
  TaskPool pool_;                       // of tasks that send groups
};

}  // namespace holdfast
