#include "sim/historic/redlock/redsync.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/uuid.h"
#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

const redis::Script kRedsyncDelete = historic_scripts::redsync_delete;

namespace {

std::vector<redis::Client*> checked(std::vector<redis::Client*> nodes, const LockOptions& options) {
  if (nodes.empty()) throw std::invalid_argument("redsync needs at least one server");
  if (options.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
  return nodes;
}

}  // namespace

Redsync::Redsync(std::vector<redis::Client*> nodes, LockOptions options, std::string key)
    : nodes_(checked(std::move(nodes), options)),
      options_(std::move(options)),
      key_(std::move(key)),
      mutex_(nodes_.front()->runtime()) {}

Redsync::Answers Redsync::ask_all(const Ask& ask) const {
  Answers answers;
  std::vector<Task> others;
  const auto one = [&](redis::Client& node) {
    Said said = Said::no;
    std::string name, error;
    try {
      said = ask(node, name);
    } catch (const redis::Error& failed) {
      error = failed.what();
    }
    const std::scoped_lock guard(mutex_);
    answers.expired = answers.expired || said == Said::expired;
    if (!error.empty()) answers.error = std::move(error);
    if (said == Said::yes && ++answers.yes == quorum()) answers.decider = std::move(name);
  };
  for (redis::Client* const node : nodes_) {
    others.push_back(runtime().spawn("pool", [&one, node] { one(*node); }));
  }
  for (Task& task : others) task.join();
  return answers;
}

void Redsync::lock() {
  if (!poll(kNever, {}, kTries))
    throw Unavailable("lock '" + key_ + "': failed to acquire it in " + std::to_string(kTries) + " attempts",
                      key_, "", false);
}

bool Redsync::try_lock() { return attempt(); }

bool Redsync::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return poll(deadline, stop, std::numeric_limits<int>::max());
}

bool Redsync::poll(MonotonicTime deadline, const std::stop_token& stop, int tries) {
  Wakeup never(runtime());
  for (int made = 1; !attempt(); ++made) {
    if (made == 1) tell({.kind = LockEvent::Kind::waiting, .key = key_});
    if (made == tries) return false;
    const auto least = static_cast<std::uint64_t>(kLeastDelay.count());
    const auto most = static_cast<std::uint64_t>(kMostDelay.count());
    const Duration delay(static_cast<Duration::rep>(runtime().random_between(least, most)));
    never.wait_until(std::min(deadline, deadline_after(runtime().now(), delay)), stop);
    if (stop.stop_requested())
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    if (runtime().now() >= deadline) return false;
  }
  return true;
}

bool Redsync::attempt() {
  const std::string value = random_uuid(runtime());
  const std::string lease_ms =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
  const MonotonicTime started = runtime().now();
  const Answers answers = ask_all([&](redis::Client& node, std::string& name) {
    const redis::Answer answer = node.call({"SET", key_, value, "NX", "PX", lease_ms},
                                           {.deadline = deadline_after(started, options_.lease / 20)});
    name = answer.node;
    return answer.reply.is_nil() ? Said::no : Said::yes;
  });
  const MonotonicTime now = runtime().now();
  const MonotonicTime until = now + (options_.lease - (now - started) - options_.lease / 100);
  if (answers.yes < quorum() || now >= until) {
    remove(value, deadline_after(now, options_.lease / 20));
    return false;
  }
  {
    const std::scoped_lock guard(mutex_);
    holds_[runtime().task_id()] = {value, until};
  }
  tell({.kind = LockEvent::Kind::acquired,
        .key = key_,
        .acquisition = value,
        .node = answers.decider,
        .valid_until = until,
        .sent_at = started});
  return true;
}

Redsync::Answers Redsync::remove(const std::string& value, MonotonicTime deadline) const {
  const std::array<std::string_view, 1> keys{key_}, args{value};
  return ask_all([&](redis::Client& node, std::string&) {
    redis::CallOptions call;
    if (deadline != kNever) call.deadline = deadline;
    const redis::Answer answer = node.eval(kRedsyncDelete, keys, args, call);
    return answer.reply.integer == -1 ? Said::expired : answer.reply.integer == 0 ? Said::no : Said::yes;
  });
}

void Redsync::release() {
  std::string value;
  {
    const std::scoped_lock guard(mutex_);
    const auto found = holds_.find(runtime().task_id());
    if (found == holds_.end())
      throw NotOwner("lock '" + key_ + "': the calling task does not hold it", key_, "", false);
    value = std::move(found->second.value);
    holds_.erase(found);
  }
  const Answers answers = remove(value, kNever);
  if (answers.yes >= quorum()) {
    tell({.kind = LockEvent::Kind::released, .key = key_, .acquisition = value});
    return;
  }
  if (answers.error.empty()) {
    const std::string what = answers.expired ? "already expired" : "taken by somebody else";
    tell({.kind = LockEvent::Kind::lost, .key = key_, .acquisition = value, .reason = what});
    throw LockLost("lock '" + key_ + "': failed to unlock, " + what, key_, "", false);
  }
  throw Unavailable("lock '" + key_ + "': failed to unlock: " + answers.error, key_, "", true);
}

bool Redsync::valid() {
  const std::optional<Hold> mine = hold();
  if (!mine) return false;
  const Answers answers = ask_all([&](redis::Client& node, std::string&) {
    return node.call({"GET", key_}).reply.text == mine->value ? Said::yes : Said::no;
  });
  if (answers.yes < quorum() && !answers.error.empty())
    throw Unavailable("lock '" + key_ + "': " + answers.error, key_, "", false);
  return answers.yes >= quorum();
}

std::optional<Redsync::Hold> Redsync::hold() const {
  const std::scoped_lock guard(mutex_);
  const auto found = holds_.find(runtime().task_id());
  return found == holds_.end() ? std::nullopt : std::optional(found->second);
}

bool Redsync::is_held_by_me() const {
  const std::optional<Hold> mine = hold();
  return mine && runtime().now() < mine->until;
}

std::optional<MonotonicTime> Redsync::valid_until() const {
  const std::optional<Hold> mine = hold();
  return mine ? std::optional(mine->until) : std::nullopt;
}

std::string Redsync::acquisition() const {
  const std::optional<Hold> mine = hold();
  return mine ? mine->value : std::string();
}

void Redsync::tell(const LockEvent& event) const {
  if (options_.observer != nullptr) options_.observer->on_event(event);
}

}  // namespace holdfast::historic
