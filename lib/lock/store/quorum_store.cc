#include "lib/lock/store/quorum_store.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "generated/lock_scripts.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/client_store.h"
#include "lib/redis/failure.h"

namespace holdfast {

const redis::Script kRaiseToken = lock_scripts::raise_token;

namespace {

using redis::Reply;
using Kind = redis::Error::Kind;

std::vector<redis::Client*> checked(std::vector<redis::Client*> clients, Duration node_timeout) {
  if (clients.empty() || std::count(clients.begin(), clients.end(), nullptr) > 0) {
    throw std::invalid_argument(
        "a quorum needs at least one server (three or five, really), and a client for each");
  }
  std::set<std::string> servers;
  for (const redis::Client* client : clients) {
    for (const redis::Node& sentinel : client->options().sentinels) {
      const std::string set = client->options().primary_name + " at " + sentinel.endpoint.to_string();
      if (!servers.insert(set).second)
        throw std::invalid_argument("a quorum needs servers that fail independently: " + set +
                                    " is there twice");
    }
    for (const redis::Node& node : client->options().nodes) {
      if (!servers.insert(node.endpoint.to_string()).second) {
        throw std::invalid_argument("a quorum needs servers that fail independently: " +
                                    node.endpoint.to_string() + " is there twice");
      }
    }
  }
  if (node_timeout < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("node_timeout: at least 1 ms");
  }
  return clients;
}

bool is_grant(const Reply& reply) { return reply.items.size() >= 2 && reply.items[0].integer == 1; }
bool is_yes(const Reply& reply) { return reply.type == Reply::Type::integer && reply.integer >= 1; }
bool is_answer(const Reply&) { return true; }

std::vector<std::string> copy(redis::Arguments arguments) { return {arguments.begin(), arguments.end()}; }

std::vector<std::string_view> views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

constexpr Duration kLeastGrace = std::chrono::milliseconds(5);

}  // namespace

struct QuorumStore::Request {
  const redis::Script* script;
  std::vector<std::string> keys, args;
  redis::CallOptions options;
};

// What the servers have said so far. Shared with the jobs that ask them, which may outlive the question.
struct QuorumStore::Poll {
  Poll(Runtime& runtime, std::size_t servers)
      : mutex(runtime), changed(runtime), replies(servers), errors(servers) {}
  Request request;
  bool (*counts)(const Reply&) = nullptr;
  bool keep_trying = false;
  MonotonicTime sent_at{};

  Mutex mutex;
  Condition changed;
  std::vector<std::optional<Reply>> replies;
  std::vector<std::optional<redis::Error>> errors;
  std::size_t answered = 0, counted = 0;
  std::optional<Request> undo;  // what was granted, or will be yet, is given back
  std::size_t giving_back = 0;  // how many servers that granted have not confirmed that

  bool is_answered(std::size_t server) const { return replies[server] || errors[server]; }
  // Whether the server may have done what it was asked for. REQUIRES: it is answered.
  bool may_hold(std::size_t server) const {
    return replies[server] ? counts(*replies[server]) : errors[server]->may_have_executed();
  }
  std::size_t refusals() const {
    return static_cast<std::size_t>(std::count_if(
        replies.begin(), replies.end(), [&](const auto& reply) { return reply && !counts(*reply); }));
  }
};

struct QuorumStore::PendingRelease {
  std::size_t server;
  Request request;
  MonotonicTime until;
};

QuorumStore::QuorumStore(std::vector<redis::Client*> clients, Duration node_timeout, Duration lease)
    : clients_(checked(std::move(clients), node_timeout)),
      runtime_(clients_.front()->runtime()),
      node_timeout_(node_timeout),
      longest_lease_ns_(lease.count()),
      name_(std::to_string(quorum()) + " of " + std::to_string(clients_.size()) + " servers"),
      mutex_(runtime_),
      changed_(runtime_),
      voters_(runtime_, "voter") {}

QuorumStore::~QuorumStore() {
  try {
    const std::scoped_lock guard(mutex_);
    closing_ = true;
    changed_.notify_all();
  } catch (const TaskCancelled&) {
  }
}

std::shared_ptr<QuorumStore::Poll> QuorumStore::poll(Request request, bool (*counts)(const Reply&),
                                                     Until until, bool keep_trying) {
  const std::size_t servers = clients_.size();
  const auto poll = std::make_shared<Poll>(runtime_, servers);
  poll->request = std::move(request);
  poll->counts = counts;
  poll->keep_trying = keep_trying;
  poll->sent_at = runtime_.now();
  auto& deadline = poll->request.options.deadline;
  deadline = std::min(deadline.value_or(kNever), deadline_after(poll->sent_at, node_timeout_));
  for (std::size_t i = 0; i < servers; ++i) {
    run([this, poll, i] { vote(*poll, i); });
  }
  std::unique_lock guard(poll->mutex);
  const auto decided = [&] {
    const std::size_t open = servers - poll->answered;
    return open == 0 ||
           (until != Until::all && (poll->counted >= quorum() || poll->counted + open < quorum()));
  };
  const auto contested = [&] {
    return until == Until::decided_soon && poll->answered >= quorum() && poll->refusals() > 0;
  };
  poll->changed.wait_until(guard, kNever, [&] { return decided() || contested(); });
  if (!decided()) {
    const Duration took = std::max<Duration>(runtime_.now() - poll->sent_at, kLeastGrace);
    poll->changed.wait_until(guard, deadline_after(runtime_.now(), took), decided);
  }
  return poll;
}

std::string QuorumStore::place() const {
  std::vector<std::string> places;
  for (const redis::Client* client : clients_) places.push_back(place_of(client->options()));
  std::sort(places.begin(), places.end());
  std::string all;
  for (const std::string& place : places) all.append(place).append(1, ';');
  return all;
}

void QuorumStore::run(const std::function<void()>& job) {
  if (!voters_.run(job)) job();
}

redis::Reply QuorumStore::ask(std::size_t server, const Request& request) {
  const std::vector<std::string_view> keys = views(request.keys), args = views(request.args);
  return clients_[server]->eval(*request.script, keys, args, request.options).reply;
}

void QuorumStore::vote(Poll& poll, std::size_t server) {
  std::optional<Reply> reply;
  std::optional<redis::Error> failed;
  try {
    reply = ask(server, poll.request);
  } catch (const redis::Error& error) {
    failed = error;
    if (poll.keep_trying && error.worth_another_attempt()) add_pending(server, poll.request);
  }
  bool undo = false;
  {
    const std::scoped_lock guard(poll.mutex);
    ++poll.answered;
    if (reply && poll.counts(*reply)) ++poll.counted;
    poll.replies[server] = std::move(reply);
    poll.errors[server] = std::move(failed);
    undo = poll.undo && poll.may_hold(server);
    poll.changed.notify_all();
  }
  if (undo) give_back(poll, server);
}

// Sends the release to servers that have answered; the voters of the others send it when they have.
void QuorumStore::undo(const std::shared_ptr<Poll>& poll, const Wire& wire, std::string_view owner,
                       MonotonicTime deadline) {
  std::unique_lock guard(poll->mutex);
  poll->undo = Request{wire.release, wire.release_keys, copy(wire.release_args(owner)), {.background = true}};
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!poll->is_answered(i) || !poll->may_hold(i)) continue;
    const bool granted = poll->replies[i].has_value();
    if (granted) ++poll->giving_back;
    const auto job = [this, poll, i, granted] {
      give_back(*poll, i);
      if (!granted) return;
      const std::scoped_lock done(poll->mutex);
      --poll->giving_back;
      poll->changed.notify_all();
    };
    if (voters_.run(job)) continue;
    guard.unlock();
    job();
    guard.lock();
  }
  poll->changed.wait_until(guard, deadline, [&] { return poll->giving_back == 0; });
}

void QuorumStore::give_back(const Poll& poll, std::size_t server) {
  Request request = *poll.undo;
  request.options.deadline = deadline_after(runtime_.now(), node_timeout_);
  try {
    ask(server, request);
  } catch (const redis::Error& error) {
    if (error.worth_another_attempt()) add_pending(server, std::move(request));
  }
}

void QuorumStore::add_pending(std::size_t server, Request request) {
  request.options.background = true;
  const std::scoped_lock guard(mutex_);
  if (closing_) return;
  pending_.push_back(
      {server, std::move(request), deadline_after(runtime_.now(), Duration(longest_lease_ns_))});
  if (working_off_) return;
  working_off_ = voters_.run([this] { send_pending(); });  // else the next one tries again
}

void QuorumStore::asks_for(std::string_view lease_ms) {
  std::int64_t ms = 0;
  std::from_chars(lease_ms.data(), lease_ms.data() + lease_ms.size(), ms);
  const Duration::rep lease = Duration(std::chrono::milliseconds(ms)).count();
  for (Duration::rep longest = longest_lease_ns_; longest < lease;) {
    if (longest_lease_ns_.compare_exchange_weak(longest, lease)) break;
  }
}

void QuorumStore::send_pending() {
  std::unique_lock guard(mutex_);
  const auto closing = [this] { return closing_; };
  while (!pending_.empty()) {
    // A server that does not answer will not have recovered a moment later.
    changed_.wait_until(guard, deadline_after(runtime_.now(), options().backoff_max), closing);
    if (closing_) break;
    std::list<PendingRelease> round;
    round.swap(pending_);
    guard.unlock();
    std::vector<bool> silent(clients_.size(), false);
    std::erase_if(round, [&](PendingRelease& pending) {
      if (runtime_.now() >= pending.until) return true;
      if (silent[pending.server]) return false;
      pending.request.options.deadline = deadline_after(runtime_.now(), node_timeout_);
      try {
        ask(pending.server, pending.request);
        return true;
      } catch (const redis::Error& error) {
        silent[pending.server] = error.worth_another_attempt();
        return !silent[pending.server];
      }
    });
    guard.lock();
    pending_.splice(pending_.begin(), round);
  }
  working_off_ = false;
}

redis::Answer QuorumStore::answer_of(const Poll& poll, Reply reply) const {
  return {.reply = std::move(reply), .node = name_, .sent_at = poll.sent_at};
}

redis::Error QuorumStore::failure_of(const Poll& poll) const {
  std::string why;
  const redis::Error* hopeless = nullptr;  // one that no other attempt would mend
  std::size_t refused_for_good = 0;
  bool may_have_executed = false;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    may_have_executed = may_have_executed || !poll.is_answered(i) || poll.may_hold(i);
    const auto& error = poll.errors[i];
    if (!error) continue;
    if (!error->worth_another_attempt()) {
      ++refused_for_good;
      if (hopeless == nullptr || hopeless->kind() == Kind::unreachable) hopeless = &*error;
    }
    why += std::string(why.empty() ? "" : "; ") + error->what();
  }
  const std::string what = "not enough servers answered: " + (why.empty() ? "none" : why);
  // So many say that it cannot be done that the others cannot make it up.
  if (hopeless != nullptr && refused_for_good + quorum() > clients_.size()) {
    return redis::Error(hopeless->kind(), name_, "EVALSHA", hopeless->code(), may_have_executed, what);
  }
  const bool all_late = std::all_of(poll.errors.begin(), poll.errors.end(), [](const auto& error) {
    return !error || error->kind() == Kind::timed_out;
  });
  return redis::failure(all_late ? Kind::timed_out : Kind::unavailable, name_, "EVALSHA", may_have_executed,
                        what);
}

redis::Answer QuorumStore::acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                                   const redis::CallOptions& options) {
  asks_for(args[1]);
  const std::shared_ptr<Poll> voted =
      poll({wire.acquire, copy(keys), copy(args), options}, is_grant, Until::decided_soon);
  std::unique_lock guard(voted->mutex);
  if (voted->counted < quorum()) {
    // Nobody said no: an answer that is still to come decides whether it is refused or unknown.
    voted->changed.wait_until(guard, kNever,
                              [&] { return voted->refusals() > 0 || voted->answered == clients_.size(); });
    if (voted->refusals() == 0) throw failure_of(*voted);
    guard.unlock();
    undo(voted, wire, args[0], options.deadline.value_or(kNever));
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
  const std::shared_ptr<Poll> raised = poll({&kRaiseToken,
                                             {std::string(keys.front()), std::string(keys.back())},
                                             {std::string(args[0]), std::to_string(token), wire.token_ms},
                                             options},
                                            is_yes, Until::decided);
  const std::scoped_lock raised_guard(raised->mutex);
  if (raised->counted < quorum()) throw failure_of(*raised);
  granted.items[2].integer = token;
  return answer_of(*voted, std::move(granted));
}

// Each lock has its own vote: renewed by a majority, or given up by so many that a majority is out of reach.
Store::Renewal QuorumStore::renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                  const redis::CallOptions& options) {
  asks_for(args[0]);
  const std::shared_ptr<Poll> voted = poll({&script, copy(keys), copy(args), options}, is_answer, Until::all);
  const std::scoped_lock guard(voted->mutex);
  if (voted->counted < quorum()) throw failure_of(*voted);
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
  // Who works in the background has the time to see that every server has it. A release that a server did
  // not answer is sent to that one again, unless the caller does it; not so what names no owner (force).
  const bool keep_trying = !options.background && !args.empty();
  const std::shared_ptr<Poll> voted = poll({&script, copy(keys), copy(args), options}, is_yes,
                                           options.background ? Until::all : Until::decided, keep_trying);
  const std::scoped_lock guard(voted->mutex);
  const bool failed = std::any_of(voted->errors.begin(), voted->errors.end(),
                                  [](const auto& error) { return error.has_value(); });
  if (failed && (options.background || voted->counted < quorum())) throw failure_of(*voted);
  Reply result;
  result.type = Reply::Type::integer;
  result.integer = voted->counted >= quorum() ? 1 : 0;
  return answer_of(*voted, std::move(result));
}

}  // namespace holdfast
