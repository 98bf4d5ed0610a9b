#include "quorum_store.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "../redis/failure.h"
#include "generated/lock_scripts.h"
#include "reentrant_scripts.h"

namespace holdfast {
namespace {

using redis::Reply;
using Kind = redis::Error::Kind;

std::vector<redis::Client*> checked(std::vector<redis::Client*> clients, Duration node_timeout) {
  if (clients.empty() || std::count(clients.begin(), clients.end(), nullptr) > 0) {
    throw std::invalid_argument(
        "a quorum needs at least one server (three or five, really), and a client for each");
  }
  if (std::set<redis::Client*>(clients.begin(), clients.end()).size() != clients.size()) {
    throw std::invalid_argument("a quorum needs servers that fail independently: one of them is there twice");
  }
  if (node_timeout < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("node_timeout: at least 1 ms");
  }
  return clients;
}

bool is_grant(const Reply& reply) { return reply.items.size() >= 2 && reply.items[0].integer == 1; }
bool is_one(const Reply& reply) { return reply.type == Reply::Type::integer && reply.integer == 1; }
bool is_answer(const Reply&) { return true; }

std::vector<std::string> copy(redis::Arguments arguments) { return {arguments.begin(), arguments.end()}; }

}  // namespace

// What the servers have said so far. Shared with the tasks that ask them, which may outlive the question.
struct QuorumStore::Poll {
  Poll(Runtime& runtime, std::size_t servers)
      : mutex(runtime), changed(runtime), replies(servers), errors(servers) {}
  Mutex mutex;
  Condition changed;
  std::vector<std::optional<Reply>> replies;
  std::vector<std::optional<redis::Error>> errors;
  std::size_t answered = 0, counted = 0;
  MonotonicTime sent_at{};
  std::vector<std::string> keys, args;
};

QuorumStore::QuorumStore(std::vector<redis::Client*> clients, Duration node_timeout)
    : clients_(checked(std::move(clients), node_timeout)),
      runtime_(clients_.front()->runtime()),
      node_timeout_(node_timeout),
      name_(std::to_string(quorum()) + " of " + std::to_string(clients_.size()) + " servers"),
      mutex_(runtime_) {}

QuorumStore::~QuorumStore() {
  try {
    tasks_.clear();
  } catch (const TaskCancelled&) {
  }
}

std::shared_ptr<QuorumStore::Poll> QuorumStore::poll(const redis::Script& script, redis::Arguments keys,
                                                     redis::Arguments args, const redis::CallOptions& options,
                                                     bool (*counts)(const Reply&), bool all) {
  const std::size_t servers = clients_.size();
  const auto poll = std::make_shared<Poll>(runtime_, servers);
  poll->keys = copy(keys);
  poll->args = copy(args);
  poll->sent_at = runtime_.now();
  redis::CallOptions each = options;
  each.deadline = std::min(options.deadline.value_or(kNever), deadline_after(poll->sent_at, node_timeout_));
  std::list<Task> started;
  for (std::size_t i = 0; i < servers; ++i) {
    started.push_back(runtime_.spawn("voter", [poll, i, client = clients_[i], &script, each, counts] {
      const std::vector<std::string_view> keys_view(poll->keys.begin(), poll->keys.end());
      const std::vector<std::string_view> args_view(poll->args.begin(), poll->args.end());
      std::optional<Reply> reply;
      std::optional<redis::Error> failed;
      try {
        reply = client->eval(script, keys_view, args_view, each).reply;
      } catch (const redis::Error& error) {
        failed = error;
      }
      const std::scoped_lock guard(poll->mutex);
      ++poll->answered;
      if (reply && counts(*reply)) ++poll->counted;
      poll->replies[i] = std::move(reply);
      poll->errors[i] = std::move(failed);
      poll->changed.notify_all();
    }));
  }
  {
    const std::scoped_lock guard(mutex_);
    std::erase_if(tasks_, [](const Task& task) { return task.finished(); });
    tasks_.splice(tasks_.end(), started);
  }
  std::unique_lock guard(poll->mutex);
  while (poll->answered < servers) {
    const std::size_t open = servers - poll->answered;
    if (!all && (poll->counted >= quorum() || poll->counted + open < quorum())) break;
    poll->changed.wait(guard);
  }
  return poll;
}

redis::Answer QuorumStore::answer_of(const Poll& poll, Reply reply) const {
  return {.reply = std::move(reply), .node = name_, .sent_at = poll.sent_at};
}

redis::Error QuorumStore::failure_of(const Poll& poll, bool may_have_executed) const {
  std::string why;
  for (const auto& error : poll.errors) {
    if (error && !error->may_have_executed() && error->kind() == Kind::rejected)
      return *error;  // all would say so
    if (error) why += std::string(why.empty() ? "" : "; ") + error->what();
  }
  return redis::failure(Kind::unavailable, name_, "EVALSHA", may_have_executed,
                        "not enough servers answered: " + (why.empty() ? "none" : why));
}

redis::Answer QuorumStore::acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                                   const redis::CallOptions& options) {
  const std::shared_ptr<Poll> voted = poll(*wire.acquire, keys, args, options, is_grant, false);
  std::unique_lock guard(voted->mutex);
  if (voted->counted < quorum()) {
    std::size_t refused = 0;
    bool errors = false;
    for (const auto& reply : voted->replies) refused += reply && !is_grant(*reply) ? 1 : 0;
    for (const auto& error : voted->errors) errors = errors || error.has_value();
    if (refused == 0 && errors) throw failure_of(*voted, true);
    guard.unlock();
    // A minority is given back at once: two who share the servers would else keep each other out for a lease.
    // All answers are waited for: one that comes late would take away what the next vote, under the same
    // name, is granted there.
    const std::vector<std::string_view> release_keys(wire.release_keys.begin(), wire.release_keys.end());
    redis::CallOptions undo = options;
    undo.background = true;
    poll(*wire.release, release_keys, args.first(1), undo, is_answer, true);
    Reply no;
    no.type = Reply::Type::array;
    no.items.resize(2);
    for (Reply& item : no.items) item.type = Reply::Type::integer;
    no.items[1].integer = -1;
    return answer_of(*voted, std::move(no));
  }
  Reply granted;
  std::int64_t token = 0;
  for (const auto& reply : voted->replies) {
    if (!reply || !is_grant(*reply)) continue;
    granted = *reply;
    if (reply->items.size() > 2) token = std::max(token, reply->items[2].integer);
  }
  guard.unlock();
  if (token == 0) return answer_of(*voted, std::move(granted));
  const std::string text = std::to_string(token);
  const std::array<std::string_view, 2> raise{args[0], text};
  const std::shared_ptr<Poll> raised = poll(lock_scripts::raise_token, keys, raise, options, is_one, false);
  const std::scoped_lock raised_guard(raised->mutex);
  if (raised->counted < quorum()) throw failure_of(*raised, true);
  granted.items[2].integer = token;
  return answer_of(*voted, std::move(granted));
}

// Each lock has its own vote: renewed by a majority, or given up by so many that a majority is out of reach.
redis::Answer QuorumStore::renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                 const redis::CallOptions& options) {
  const std::shared_ptr<Poll> voted = poll(script, keys, args, options, is_answer, true);
  const std::scoped_lock guard(voted->mutex);
  if (voted->counted < quorum()) throw failure_of(*voted, true);
  Reply result;
  result.type = Reply::Type::array;
  result.items.resize(args.size() - 1);
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    std::size_t yes = 0, no = 0;
    for (const auto& reply : voted->replies) {
      if (!reply || i >= reply->items.size() || reply->items[i].type != Reply::Type::integer) continue;
      ++(reply->items[i].integer == 1 ? yes : no);
    }
    Reply& item = result.items[i];
    if (yes >= quorum() || clients_.size() - no < quorum()) {
      item.type = Reply::Type::integer;
      item.integer = yes >= quorum() ? 1 : 0;
    } else {
      item.type = Reply::Type::error;
      item.text = "only " + std::to_string(yes) + " of the servers renewed it";
    }
  }
  return answer_of(*voted, std::move(result));
}

redis::Answer QuorumStore::call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                const redis::CallOptions& options) {
  // Who works in the background has the time to see that every server has it.
  const std::shared_ptr<Poll> voted = poll(script, keys, args, options, is_one, options.background);
  const std::scoped_lock guard(voted->mutex);
  const bool all_answered = std::none_of(voted->errors.begin(), voted->errors.end(),
                                         [](const auto& error) { return error.has_value(); });
  if (options.background ? !all_answered : voted->counted < quorum() && !all_answered) {
    throw failure_of(*voted, true);
  }
  Reply result;
  result.type = Reply::Type::integer;
  result.integer = voted->counted >= quorum() ? 1 : 0;
  return answer_of(*voted, std::move(result));
}

}  // namespace holdfast
