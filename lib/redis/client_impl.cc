#include "lib/redis/client_impl.h"

#include <algorithm>
#include <utility>

#include "lib/redis/failure.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/role.h"
#include "lib/runtime/check.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t kMaxRetired = 4;  // connections on which late replies are still awaited

std::vector<std::string> names(const ClientOptions& options) {
  std::vector<std::string> names;
  for (const Node& node : options.nodes) names.push_back(node_name(node));
  return names;
}

std::string in_ms(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

class Client::Impl::WaiterGuard {
 public:
  WaiterGuard(std::list<Waiter*>& waiters, Waiter& waiter)
      : waiters_(waiters), at_(waiters.insert(waiters.end(), &waiter)) {}
  ~WaiterGuard() { waiters_.erase(at_); }  // under the mutex, or in a killed process
  WaiterGuard(const WaiterGuard&) = delete;
  WaiterGuard& operator=(const WaiterGuard&) = delete;

 private:
  std::list<Waiter*>& waiters_;
  const std::list<Waiter*>::iterator at_;
};

Client::Impl::Impl(Runtime& runtime, Network& network, ClientOptions options)
    : runtime_(runtime),
      network_(network),
      options_(std::make_shared<const ClientOptions>(std::move(options))),
      names_(names(*options_)),
      pubsub_(std::make_shared<Pubsub>(runtime, network, options_)),
      mutex_(runtime) {
  HF_CHECK(!options_->nodes.empty(), "a client has at least one node");
}

MonotonicTime Client::Impl::deadline_of(const CallOptions& call, MonotonicTime now) const {
  return call.deadline ? *call.deadline : deadline_after(now, options_->command_timeout);
}

Client::Impl::Sent Client::Impl::execute(std::span<const CommandView> commands, std::span<Reply> replies,
                                         MonotonicTime now, MonotonicTime deadline, bool background) {
  using Kind = Error::Kind;
  const std::string_view name = commands.front().name();
  for (;;) {
    const ConnectionPtr connection = connected(now, deadline, name);
    const std::string& node = names_[connection->node()];
    const Connection::Result result = connection->execute(commands, replies, now, deadline, background);
    switch (result.outcome) {
      case Connection::Outcome::replied:
        if (!refused_everywhere(commands, replies)) {
          proved_useful(connection);
          return {connection->node(), result.sent_at};
        }
        seek_again(connection, node + ": " + replies.front().text);
        if (runtime_.now() >= deadline) return {connection->node(), result.sent_at};
        break;
      case Connection::Outcome::timed_out:
        throw failure(Kind::timed_out, node, name, result.may_have_executed, "no reply by the deadline");
      case Connection::Outcome::full:
        throw failure(Kind::unavailable, node, name, false,
                      "too many calls in flight (max_pending = " + std::to_string(options_->max_pending) +
                          "): send fewer at a time or raise the limit");
      case Connection::Outcome::protocol:
      case Connection::Outcome::broken:
        seek_again(connection, node + ": " + connection->why_broken());
        if (result.may_have_executed) {
          const bool protocol = result.outcome == Connection::Outcome::protocol;
          throw failure(protocol ? Kind::protocol : Kind::disconnected, node, name, true,
                        connection->why_broken());
        }
        break;  // nothing of it was sent: once more, on the next connection
    }
    for (Reply& reply : replies) reply = Reply();
    now = runtime_.now();
  }
}

// Every command was refused by a node that is not (yet) the primary, so that nothing was done.
bool Client::Impl::refused_everywhere(std::span<const CommandView> commands,
                                      std::span<const Reply> replies) const {
  if (!several() || !means_not_primary(replies.front().error_code())) return false;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::string_view name = commands[i].name();
    const bool harmless = name == "WAIT" || name == "MULTI" || name == "PING";
    if (!harmless && !(replies[i].is_error() && says_not_executed(name, replies[i]))) return false;
  }
  return true;
}

// --- the connection --------------------------------------------------------------------------------------

// `now` is brought up to date when this took time.
Client::Impl::ConnectionPtr Client::Impl::connected(MonotonicTime& now, MonotonicTime deadline,
                                                    std::string_view command) {
  using Kind = Error::Kind;
  Lock lock(mutex_);
  if (connection_ && connection_->usable()) return connection_;
  if (waiters_.size() >= options_->max_pending) {
    throw failure(Kind::unavailable, "", command, false,
                  "too many calls wait for a connection (max_pending = " +
                      std::to_string(options_->max_pending) + "): " + last_problem_);
  }
  const MonotonicTime since = now;
  Waiter waiter{&runtime_.parker()};
  const WaiterGuard guard(waiters_, waiter);
  bool in_time = deadline > since;
  for (;;) {
    if (connection_ && connection_->usable()) return connection_;
    if (stopping_) throw failure(Kind::unavailable, "", command, false, "the client is being destroyed");
    if (waiter.hopeless) {
      std::string what = std::string(command) + ": " + last_problem_;
      if (hopeless_.kind == Kind::unreachable)
        what += "; check that the servers run and that the addresses are right";
      throw Error(hopeless_.kind, hopeless_.node, std::string(command), hopeless_.code, false,
                  what + " (it was not executed)");
    }
    if (!in_time) {
      const std::string what = several() ? "no primary found within " : "no connection within ";
      throw failure(Kind::unavailable, several() ? "" : names_.front(), command, false,
                    what + in_ms(now - since) +
                        (last_problem_.empty() ? "" : "; last attempt: " + last_problem_) +
                        "; check that the servers run and that the addresses are right");
    }
    start_connecting();
    lock.unlock();
    in_time = waiter.parker->park_until(deadline);
    lock.lock();
    now = runtime_.now();
  }
}

// The first reply on a connection shows that it was worth making: the next loss starts without delay.
void Client::Impl::proved_useful(const ConnectionPtr& connection) {
  if (connection->proved.load(std::memory_order_relaxed)) return;
  connection->proved.store(true, std::memory_order_relaxed);
  const Lock lock(mutex_);
  failures_ = 0;
}

// Calls go elsewhere from now on; those that are under way on `connection` end there.
void Client::Impl::seek_again(const ConnectionPtr& connection, std::string why) {
  const Lock lock(mutex_);
  if (connection_ != connection) return;  // somebody was quicker
  last_problem_ = std::move(why);
  drop_connection();
}

void Client::Impl::drop_connection() {
  const ConnectionPtr old = std::move(connection_);
  connection_ = nullptr;
  old->retire();
  if (failures_ > 0) next_attempt_ = deadline_after(runtime_.now(), backoff(runtime_, *options_, failures_));
  retired_.push_back(old);
}

// REQUIRES: the mutex is locked.
void Client::Impl::start_connecting() {
  if (task_running_) return;
  task_running_ = true;
  task_ = runtime_.spawn("connector", [self = shared_from_this()] { self->connect_until_done(); });
}

void Client::Impl::connect_until_done() {
  std::vector<ConnectionPtr> finished;
  Lock lock(mutex_);
  ParkerPlace place(task_parker_, runtime_.parker());
  if (connection_ && !connection_->usable()) {  // broke while nobody called
    last_problem_ = names_[connection_->node()] + ": " + connection_->why_broken();
    drop_connection();
  }
  while (!stopping_ && !connection_ && !waiters_.empty()) {
    if (runtime_.now() < next_attempt_) {
      lock.unlock();
      runtime_.parker().park_until(next_attempt_);
      lock.lock();
      continue;
    }
    const std::size_t first = last_primary_;
    lock.unlock();
    Found found = find_primary(runtime_, network_, *options_, first);
    lock.lock();
    ++failures_;  // until a call is answered
    if (found.stream && !stopping_) {
      connection_ = std::make_shared<Connection>(
          runtime_, std::move(found.stream), found.node,
          Connection::Settings{options_->connect_timeout, options_->max_pending});
      last_primary_ = found.node;
      ever_connected_ = true;
    } else {
      last_problem_ = found.why_not;
      next_attempt_ = deadline_after(runtime_.now(), backoff(runtime_, *options_, failures_));
      const bool may_come = ever_connected_ || options_->wait_for_servers;
      if (found.hopeless == Error::Kind::unreachable && may_come) found.hopeless.reset();
      if (!found.hopeless) continue;
      hopeless_ = {*found.hopeless, found.hopeless_node, found.code};
    }
    for (Waiter* const waiter : waiters_) {
      waiter->hopeless = found.hopeless && !connection_;
      waiter->parker->unpark();
    }
    if (!connection_) break;
    lock.unlock();
    pubsub_->calls_go_to(found.node);
    lock.lock();
  }
  while (!retired_.empty() && (retired_.size() > kMaxRetired || retired_.front()->idle())) {
    finished.push_back(retired_.front());
    retired_.erase(retired_.begin());
  }
  place.leave();
  task_running_ = false;
  if (!stopping_ && !connection_ && !waiters_.empty()) waiters_.front()->parker->unpark();
  lock.unlock();
  for (const ConnectionPtr& connection : finished) connection->shutdown();
}

void Client::Impl::shutdown() {
  Lock lock(mutex_);
  stopping_ = true;
  for (Waiter* const waiter : waiters_) waiter->parker->unpark();
  if (task_parker_ != nullptr) task_parker_->unpark();
  Task task = std::move(task_);
  lock.unlock();
  task.join();
  lock.lock();
  std::vector<ConnectionPtr> connections = std::move(retired_);
  if (connection_) connections.push_back(std::move(connection_));
  lock.unlock();
  for (const ConnectionPtr& connection : connections) connection->shutdown();
  pubsub_->shutdown();
}

}  // namespace holdfast::redis
