#include "lib/lock/store/group_commit.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "lib/lock/engine/wire.h"
#include "lib/redis/error.h"
#include "lib/redis/failure.h"
#include "lib/runtime/process_identity.h"

namespace holdfast {
namespace {

constexpr std::size_t kMostCommands = 1024;  // in one group
constexpr std::string_view kNoTurn = "calls before it waited for replicas until it was too late for this one";

using OwnCommand = std::vector<std::string>;

std::vector<OwnCommand> copies(std::span<const GroupCommit::Command> commands) {
  std::vector<OwnCommand> all;
  for (const GroupCommit::Command& command : commands) all.emplace_back(command.begin(), command.end());
  return all;
}

void append(std::vector<GroupCommit::Command>& to, const std::vector<OwnCommand>& commands) {
  for (const OwnCommand& command : commands) to.emplace_back(command.begin(), command.end());
}

}  // namespace

std::shared_ptr<GroupCommit> GroupCommit::of(redis::Client& client) {
  const auto make = [&client] { return std::make_shared<GroupCommit>(client, redis::Lane::replicas); };
  return std::static_pointer_cast<GroupCommit>(client.shared(make));
}

// A call in line. It outlives its caller, who may leave before it is answered.
struct GroupCommit::Ticket {
  enum class State { waiting, sent, settled, alone };
  std::vector<OwnCommand> before, after;
  OwnCommand shared;
  Wait wait;
  MonotonicTime deadline;
  bool can_be_stopped = false;
  // Guarded by the mutex:
  Parker* parker = nullptr;  // null: its caller has left
  State state = State::waiting;
  std::vector<redis::Answer> answers = {};
  std::optional<redis::Error> error = std::nullopt;

  std::size_t commands() const { return before.size() + 2 + after.size(); }  // the WAIT among them
  void turn(State to) {
    state = to;
    if (parker != nullptr) parker->unpark();
  }
  void settle(std::optional<redis::Error> failed) {
    error = std::move(failed);
    turn(State::settled);
  }
};

GroupCommit::GroupCommit(redis::Client& client, redis::Lane lane)
    : client_(client),
      lane_(lane),
      made_at_fork_(forks_so_far()),
      mutex_(client.runtime()),
      pool_(client.runtime(), "acknowledger") {}

GroupCommit::~GroupCommit() { closing_.request_stop(); }

std::vector<redis::Answer> GroupCommit::call(const Call& call, const redis::CallOptions& options) {
  // In a child that forked off the lock may be locked for ever. The client says what is wrong.
  if (forks_so_far() != made_at_fork_) return send_alone(call, options);
  {
    Lock lock(mutex_);
    if (!busy_.try_emplace(call.slot).second) return wait_in_line(lock, call, options);
  }
  std::vector<redis::Answer> answers;
  const MonotonicTime sent_at = client_.runtime().now();
  try {
    answers = send_alone(call, options);
  } catch (const redis::Error& error) {
    gave_up(sent_at, error);
    next_in_line(call.slot);
    throw;
  } catch (const std::exception&) {
    next_in_line(call.slot);
    throw;
  }
  took(answers);
  next_in_line(call.slot);
  return answers;
}

void GroupCommit::took(const std::vector<redis::Answer>& answers) {
  const Duration time = client_.runtime().now() - answers.front().sent_at;
  const Lock lock(mutex_);
  took_ = time;
}

// Without an answer it is known how long is not enough. Else calls that come in turns, each with what the one
// before has left it of its time, never have enough of it, one after another.
void GroupCommit::gave_up(MonotonicTime sent_at, const redis::Error& error) {
  if (error.kind() != redis::Error::Kind::timed_out || !error.may_have_executed()) return;
  const Duration time = client_.runtime().now() - sent_at;
  const Lock lock(mutex_);
  took_ = std::max(took_, time);
}

std::vector<redis::Answer> GroupCommit::send_alone(const Call& call, const redis::CallOptions& options) {
  const std::string replicas = std::to_string(call.wait.replicas);
  const std::string timeout = milliseconds_text(call.wait.timeout);
  std::vector<Command> commands(call.before.begin(), call.before.end());
  if (!call.shared.empty()) commands.push_back(call.shared);
  commands.push_back({"WAIT", replicas, timeout});
  commands.insert(commands.end(), call.after.begin(), call.after.end());
  redis::CallOptions on_lane = options;
  on_lane.lane = lane_;
  return client_.call_all(commands, on_lane);
}

std::vector<redis::Answer> GroupCommit::wait_in_line(Lock& lock, const Call& call,
                                                     const redis::CallOptions& options) {
  using Kind = redis::Error::Kind;
  using State = Ticket::State;
  Runtime& runtime = client_.runtime();
  Parker& parker = runtime.parker();
  const MonotonicTime deadline =
      options.deadline.value_or(deadline_after(runtime.now(), client_.options().command_timeout));
  const auto ticket = std::make_shared<Ticket>(Ticket{.before = copies(call.before),
                                                      .after = copies(call.after),
                                                      .shared = {call.shared.begin(), call.shared.end()},
                                                      .wait = call.wait,
                                                      .deadline = deadline,
                                                      .can_be_stopped = options.stop.stop_possible(),
                                                      .parker = &parker});
  struct Leaving {  // in a process that is being killed; else it was done under the mutex
    Ticket& ticket;
    ~Leaving() {
      if (ticket.parker != nullptr) ticket.parker = nullptr;
    }
  };
  std::optional<Kind> left;
  bool sent = false;
  {
    const Leaving leaving{*ticket};
    busy_.at(call.slot).push_back(ticket);
    lock.unlock();
    const std::stop_callback wake(options.stop, [&parker] { parker.unpark(); });
    lock.lock();
    while (ticket->state == State::waiting || ticket->state == State::sent) {
      if (options.stop.stop_requested()) left = Kind::interrupted;
      if (!left && runtime.now() >= deadline) left = Kind::timed_out;
      if (left) break;
      lock.unlock();
      parker.park_until(deadline);
      lock.lock();
    }
    sent = ticket->state == State::sent;
    if (ticket->state == State::waiting) busy_.at(call.slot).remove(ticket);
    ticket->parker = nullptr;
    lock.unlock();
  }
  if (left) {
    throw redis::failure(*left, "", call.before.front().front(), sent,
                         *left == Kind::interrupted ? "the call was stopped"
                         : sent                     ? "no reply by the deadline"
                                                    : std::string(kNoTurn));
  }
  if (ticket->state == State::alone) return send_alone(call, options);
  if (ticket->error) throw redis::Error(*ticket->error);
  return std::move(ticket->answers);
}

// A call has ended: those in line go out, on a task of their own, which none of their deadlines ends too
// early for the others.
void GroupCommit::next_in_line(std::uint16_t slot) {
  {
    const Lock lock(mutex_);
    if (busy_.at(slot).empty()) {
      busy_.erase(slot);
      return;
    }
  }
  if (pool_.run([this, slot] { serve(slot); })) return;
  const Lock lock(mutex_);  // no task could be started
  for (const TicketPtr& ticket : busy_.at(slot)) ticket->turn(Ticket::State::alone);
  busy_.erase(slot);
}

void GroupCommit::serve(std::uint16_t slot) {
  for (;;) {
    std::vector<TicketPtr> group;
    {
      const Lock lock(mutex_);
      group = take_group(busy_.at(slot));
      if (group.empty()) {
        busy_.erase(slot);
        return;
      }
    }
    send_group(group);
  }
}

// The first in line, and the others that can go with it. All of them are sent from now on. Those that the
// answer would reach too late are not, and do not take others' time: else none of many is ever in time.
std::vector<GroupCommit::TicketPtr> GroupCommit::take_group(Line& line) const {
  std::vector<TicketPtr> group;
  const MonotonicTime answered = client_.runtime().now() + took_;
  const std::size_t most = std::min(kMostCommands, client_.options().max_pending / 2);
  std::size_t commands = 0;
  for (auto at = line.begin(); at != line.end();) {
    Ticket& ticket = **at;
    if (ticket.deadline < answered) {
      ticket.settle(
          redis::failure(redis::Error::Kind::timed_out, "", ticket.before.front().front(), false, kNoTurn));
      at = line.erase(at);
      continue;
    }
    commands += ticket.commands();
    if (!group.empty() && (commands > most || ticket.wait.replicas != group.front()->wait.replicas)) {
      commands -= ticket.commands();
      ++at;
      continue;
    }
    ticket.state = Ticket::State::sent;
    group.push_back(std::move(*at));
    at = line.erase(at);
  }
  return group;
}

void GroupCommit::send_group(const std::vector<TicketPtr>& group) {
  std::vector<Command> commands;
  redis::CallOptions options{.deadline = group.front()->deadline, .lane = lane_};
  Duration longest{};
  for (const TicketPtr& ticket : group) {
    append(commands, ticket->before);
    options.deadline = std::max(*options.deadline, ticket->deadline);
    longest = std::max(longest, ticket->wait.timeout);
    // Its caller may be gone when this object is destroyed; the others wait for their deadlines.
    if (ticket->can_be_stopped) options.stop = closing_.get_token();
  }
  std::map<OwnCommand, std::size_t> shared;  // and where its answer is
  for (const TicketPtr& ticket : group) {
    if (ticket->shared.empty() || !shared.emplace(ticket->shared, commands.size()).second) continue;
    commands.emplace_back(ticket->shared.begin(), ticket->shared.end());
  }
  const std::size_t wait_at = commands.size();
  const std::string replicas = std::to_string(group.front()->wait.replicas);
  const std::string timeout = milliseconds_text(longest);
  commands.push_back({"WAIT", replicas, timeout});
  for (const TicketPtr& ticket : group) append(commands, ticket->after);

  std::vector<redis::Answer> answers;
  std::optional<redis::Error> error;
  const MonotonicTime sent_at = client_.runtime().now();
  try {
    answers = client_.call_all(commands, options);
    took(answers);
  } catch (const redis::Error& failed) {
    gave_up(sent_at, failed);
    error = failed;
  } catch (const std::exception& failed) {  // no memory
    error =
        redis::failure(redis::Error::Kind::unavailable, "", commands.front().front(), true, failed.what());
  }
  const Lock lock(mutex_);
  std::size_t before = 0, after = wait_at + 1;
  for (const TicketPtr& ticket : group) {
    const auto take = [&](std::size_t& at, std::size_t count) {
      for (const std::size_t end = at + count; at < end; ++at)
        ticket->answers.push_back(std::move(answers[at]));
    };
    if (!error) {
      take(before, ticket->before.size());
      if (!ticket->shared.empty()) ticket->answers.push_back(answers[shared.at(ticket->shared)]);
      ticket->answers.push_back(answers[wait_at]);
      take(after, ticket->after.size());
    }
    ticket->settle(error);
  }
}

}  // namespace holdfast
