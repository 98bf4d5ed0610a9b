#include "lib/redis/client_impl.h"

#include <algorithm>
#include <utility>

#include "lib/redis/cluster_shards.h"
#include "lib/redis/failure.h"
#include "lib/redis/listed.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/warning.h"
#include "lib/runtime/check.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t kMaxRetired = 4;  // connections on which late replies are still awaited

bool writes(std::string_view command) {
  return command == "SET" || command == "EVALSHA" || command == "EVAL";
}

std::string in_ms(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

// Counts a call that ends without an answer. (To catch its error and to throw it again takes as long as the
// throw.)
class Unanswered {
 public:
  explicit Unanswered(Servers::Counts& counts) : counts_(counts) {}
  ~Unanswered() {
    if (!answered_) counts_.unanswered.fetch_add(1, std::memory_order_relaxed);
  }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;

  void is_answered() { answered_ = true; }

 private:
  Servers::Counts& counts_;
  bool answered_ = false;
};

}  // namespace

Client::Impl::Impl(Runtime& runtime, Network& network, ClientOptions options)
    : runtime_(runtime),
      tls_(options.tls ? std::make_unique<TlsNetwork>(runtime, network, *options.tls) : nullptr),
      network_(tls_ ? *tls_ : network),
      options_(std::make_shared<const ClientOptions>(std::move(options))),
      servers_(std::make_shared<Servers>(runtime, *options_)),
      known_(std::make_shared<Known>()),
      pubsub_(options_->cluster
                  ? nullptr
                  : std::make_shared<Pubsub>(runtime, network_, options_, servers_, nullptr,
                                             [known = known_](std::size_t node) { known->found_at(node); })),
      shards_(options_->cluster ? std::make_shared<Shards>(parts()) : nullptr),
      mutex_(runtime),
      task_(runtime, "connector") {
  HF_CHECK(!options_->nodes.empty() || !options_->sentinels.empty(),
           "a client has at least one node or Sentinel");
  HF_CHECK(!options_->cluster ||
               (!options_->nodes.empty() && options_->sentinels.empty() && options_->database == 0),
           "a client of a Cluster has at least one node, no Sentinel, and database 0");
}

Client::Impl::Impl(Parts parts, std::optional<std::size_t> only, std::shared_ptr<Pubsub> pubsub)
    : runtime_(*parts.runtime),
      network_(*parts.network),
      options_(std::move(parts.options)),
      servers_(std::move(parts.servers)),
      known_(std::move(parts.known)),
      only_(only),
      pubsub_(std::move(pubsub)),
      mutex_(runtime_),
      task_(runtime_, "connector") {}

Client::Impl::Impl(const Parts& parts, std::size_t node) : Impl(parts, node, nullptr) {}

void Client::Impl::check_process(std::string_view command) const {
  if (forks_so_far() == made_at_fork_) return;
  throw failure(
      Error::Kind::forked, "", command, false,
      "this process is a fork of the one that made the client, and shares its connections with it: make "
      "a client of your own in the child");
}

std::shared_ptr<void> Client::Impl::shared(const std::function<std::shared_ptr<void>()>& make) {
  if (forks_so_far() != made_at_fork_) return make();  // the mutex may be locked for ever
  const Lock lock(mutex_);
  std::shared_ptr<void> one = shared_.lock();
  if (!one) shared_ = one = make();
  return one;
}

MonotonicTime Client::Impl::deadline_of(const CallOptions& call, MonotonicTime now) const {
  return call.deadline ? *call.deadline : deadline_after(now, options_->command_timeout);
}

Client::Impl::Sent Client::Impl::execute(std::span<const CommandView> commands, std::span<Reply> replies,
                                         MonotonicTime now, MonotonicTime deadline, const CallOptions& call) {
  check_process(commands.front().name());
  Unanswered unanswered(counts());
  const auto answered = [&] {
    const Sent sent = route(commands, replies, now, deadline, call);
    unanswered.is_answered();
    return sent;
  };
  if (!call.stop.stop_possible()) return answered();
  const std::stop_callback wake(call.stop, [&parker = runtime_.parker()] { parker.unpark(); });
  return answered();
}

Client::Impl::Sent Client::Impl::route(std::span<const CommandView> commands, std::span<Reply> replies,
                                       MonotonicTime now, MonotonicTime deadline, const CallOptions& call) {
  if (shards_) return shards_->execute(commands, replies, now, deadline, call);
  const std::shared_ptr<Impl> on = call.lane == Lane::shared ? shared_from_this() : lane(call.lane);
  return on->send_until(commands, replies, now, deadline, call);
}

std::unique_ptr<Subscription> Client::Impl::subscribe(std::string channel,
                                                      std::function<void(std::string_view)> on_message,
                                                      std::function<void()> on_subscribed) {
  if (shards_) return shards_->subscribe(std::move(channel), std::move(on_message), std::move(on_subscribed));
  return pubsub_->subscribe(std::move(channel), std::move(on_message),
                            [told = std::move(on_subscribed)](std::string_view) { told(); });
}

std::unique_ptr<Subscription> Client::Impl::subscribe_sharded(
    std::string channel, std::function<void(std::string_view)> on_message,
    std::function<void(std::string_view)> on_subscribed) {
  if (shards_) {
    return shards_->subscribe_sharded(std::move(channel), std::move(on_message), std::move(on_subscribed));
  }
  return pubsub_->subscribe(std::move(channel), std::move(on_message),
                            [told = std::move(on_subscribed)](std::string_view) { told({}); });
}

std::size_t Client::Impl::node_of(std::string_view key) const { return shards_ ? shards_->node_of(key) : 0; }

std::shared_ptr<Client::Impl> Client::Impl::lane(Lane lane) {
  const Lock lock(mutex_);
  std::shared_ptr<Impl>& impl = lanes_[static_cast<std::size_t>(lane) - 1];
  if (!impl) {
    impl = std::shared_ptr<Impl>(new Impl(parts(), only_, nullptr));
    impl->is_lane_ = true;
    impl->stopping_ = stopping_;
  }
  return impl;
}

Error Client::Impl::refusal(std::string_view node, std::string_view command, const Reply& error) const {
  const std::string code = error.error_code();
  // The slot is on its way from one node to another.
  if (options_->cluster && (code == "MOVED" || code == "ASK"))
    return failure(Error::Kind::unavailable, node, command, false, "the server answered: " + error.text);
  return rejection(node, command, error, several() || known_->took_a_write);
}

Client::Impl::Sent Client::Impl::send_until(std::span<const CommandView> commands, std::span<Reply> replies,
                                            MonotonicTime now, MonotonicTime deadline,
                                            const CallOptions& call) {
  using Kind = Error::Kind;
  const std::string_view name = commands.front().name();
  for (;;) {
    // Another lane leaves the caller time to go over the shared one.
    const bool shared = !is_lane_ || deadline == kNever;
    const MonotonicTime connect_by = shared ? deadline : now + (deadline - now) / 2;
    const ConnectionPtr connection = connected(now, connect_by, name, call.stop);
    const std::string& node = name_of(connection->node());
    const Connection::Result result =
        connection->execute(commands, replies, now, deadline, call.background, call.stop);
    if (result.may_have_executed) counts().commands.fetch_add(commands.size(), std::memory_order_relaxed);
    switch (result.outcome) {
      case Connection::Outcome::replied:
        if (!refused_everywhere(commands, replies)) {
          proved_useful(connection);
          if (!known_->took_a_write && !replies.front().is_error() && writes(name))
            known_->took_a_write = true;
          return {connection->node(), result.sent_at};
        }
        seek_again(connection, node + ": " + replies.front().text);
        if (runtime_.now() >= deadline) return {connection->node(), result.sent_at};
        break;
      case Connection::Outcome::timed_out:
        throw failure(Kind::timed_out, node, name, result.may_have_executed, "no reply by the deadline");
      case Connection::Outcome::stopped:
        throw failure(Kind::interrupted, node, name, result.may_have_executed, "the call was stopped");
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
  if (!several() || !replies.front().is_error()) return false;
  const Meaning meaning = meaning_of(replies.front().text);
  if (meaning != Meaning::primary && meaning != Meaning::loading) return false;
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
                                                    std::string_view command, const std::stop_token& stop) {
  using Kind = Error::Kind;
  Lock lock(mutex_);
  if (moves_seen_ != known_->moves.load(std::memory_order_relaxed)) leave_old_primary();
  if (connection_ && connection_->usable()) return connection_;
  if (waiters_.size() >= options_->max_pending) {
    throw failure(Kind::unavailable, "", command, false,
                  "too many calls wait for a connection (max_pending = " +
                      std::to_string(options_->max_pending) + "): " + last_problem_);
  }
  const MonotonicTime since = now;
  Waiter waiter{&runtime_.parker()};
  const Listed listed(waiters_, waiter);  // taken off under the mutex, or in a killed process
  bool in_time = deadline > since;
  for (;;) {
    if (connection_ && connection_->usable()) return connection_;
    if (stopping_) throw failure(Kind::unavailable, "", command, false, "the client is being destroyed");
    if (stop.stop_requested()) throw failure(Kind::interrupted, "", command, false, "the call was stopped");
    if (waiter.hopeless) {
      std::string what = std::string(command) + ": " + last_problem_;
      if (hopeless_.kind == Kind::unreachable)
        what += "; check that the servers run and that the addresses are right";
      what += " (it was not executed)";
      if (only_ && hopeless_.kind == Kind::unavailable)
        throw NotConnected(hopeless_.kind, hopeless_.node, std::string(command), "", false, what);
      throw Error(hopeless_.kind, hopeless_.node, std::string(command), hopeless_.code, false, what);
    }
    if (!in_time) {
      const std::string what = several() ? "no primary found within " : "no connection within ";
      throw failure(Kind::unavailable, several() ? "" : name_of(0), command, false,
                    what + in_ms(now - since) +
                        (last_problem_.empty() ? "" : "; last attempt: " + last_problem_) +
                        "; check that the servers run and that the addresses are right");
    }
    MonotonicTime until = deadline;
    if (!start_connecting()) {
      last_problem_ = "no task could be started that connects (no threads left?)";
      until = std::min(deadline, deadline_after(runtime_.now(), options_->backoff_min));
    }
    lock.unlock();
    in_time = waiter.parker->park_until(until) || until < deadline;
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

// Another lane, or the subscriptions, have found the primary at another node: a peer that died silently is
// not waited for once more on each connection. REQUIRES: the mutex is locked.
void Client::Impl::leave_old_primary() {
  if (only_) return;
  moves_seen_ = known_->moves;
  if (!connection_ || connection_->node() == known_->last_primary) return;
  last_problem_ = name_of(connection_->node()) + ": another node is the primary now";
  drop_connection();
}

void Client::Impl::drop_connection() {
  const ConnectionPtr old = std::move(connection_);
  connection_ = nullptr;
  old->retire();
  if (failures_ > 0) next_attempt_ = deadline_after(runtime_.now(), backoff(runtime_, *options_, failures_));
  retired_.push_back(old);
}

// False: no task could be started. REQUIRES: the mutex is locked.
bool Client::Impl::start_connecting() {
  return task_.start([self = shared_from_this()] { self->connect_until_done(); });
}

void Client::Impl::connect_until_done() {
  std::vector<ConnectionPtr> finished;
  Lock lock(mutex_);
  BackgroundTask::Turn turn(task_);
  if (connection_ && !connection_->usable()) {  // broke while nobody called
    last_problem_ = name_of(connection_->node()) + ": " + connection_->why_broken();
    drop_connection();
  }
  while (!stopping_ && !connection_ && !waiters_.empty()) {
    if (runtime_.now() < next_attempt_) {
      wait_for_next_attempt(lock);
      continue;
    }
    const std::size_t first = known_->last_primary;
    Hint hint;
    if (watch_) hint = {.sentinel = watch_->sentinel(), .primary = watch_->told()};
    lock.unlock();
    Found found = only_ ? connect_to_node(runtime_, network_, *options_, *servers_, *only_, false)
                        : find_primary(runtime_, network_, *options_, *servers_, first, hint);
    if (!found.warning.empty() && !known_->warned.exchange(true)) warn(*options_, found.warning);
    lock.lock();
    ++failures_;  // until a call is answered
    if (found.stream && !stopping_) {
      connection_ = std::make_shared<Connection>(
          runtime_, std::move(found.stream), found.node,
          Connection::Settings{options_->connect_timeout, options_->max_pending, options_->max_reply});
      if (std::exchange(had_connection_, true)) ++counts().reconnections;
      if (!only_) known_->found_at(found.node);
      moves_seen_ = known_->moves;
      known_->ever_connected = true;
    } else {
      last_problem_ = found.why_not;
      next_attempt_ = deadline_after(runtime_.now(), backoff(runtime_, *options_, failures_));
      const bool may_come = only_ || known_->ever_connected || options_->wait_for_servers;
      if (found.hopeless == Error::Kind::unreachable && may_come) found.hopeless.reset();
      if (!found.hopeless && only_) found.hopeless = Error::Kind::unavailable;  // somebody else may have it
      if (!watch_ && !only_ && !options_->sentinels.empty())
        watch_ = std::make_shared<SwitchWatch>(runtime_, network_, options_);
      if (!found.hopeless) continue;
      hopeless_ = {*found.hopeless, found.hopeless_node, found.code};
    }
    for (Waiter* const waiter : waiters_) {
      waiter->hopeless = found.hopeless && !connection_;
      waiter->parker->unpark();
    }
    if (!connection_) break;
    if (!pubsub_) continue;
    lock.unlock();
    pubsub_->calls_go_to(found.node);
    lock.lock();
  }
  while (!retired_.empty() && (retired_.size() > kMaxRetired || retired_.front()->idle())) {
    finished.push_back(retired_.front());
    retired_.erase(retired_.begin());
  }
  const std::shared_ptr<SwitchWatch> watched = std::move(watch_);  // ends without the mutex
  watch_ = nullptr;
  turn.rest();
  if (!stopping_ && !connection_ && !waiters_.empty()) waiters_.front()->parker->unpark();
  lock.unlock();
  for (const ConnectionPtr& connection : finished) connection->shutdown();
}

// Of a connector that has failed. REQUIRES: `lock` is locked, and is again on return.
void Client::Impl::wait_for_next_attempt(Lock& lock) {
  const std::shared_ptr<SwitchWatch> watch = watch_;
  const MonotonicTime until = next_attempt_;
  lock.unlock();
  bool told = false;
  if (watch) {
    told = watch->wait_until(until);
  } else {
    runtime_.parker().park_until(until);
  }
  lock.lock();
  if (told) next_attempt_ = runtime_.now();
}

void Client::Impl::shutdown() {
  servers_->end();
  Lock lock(mutex_);
  stopping_ = true;
  for (Waiter* const waiter : waiters_) waiter->parker->unpark();
  const std::shared_ptr<SwitchWatch> watch = watch_;
  lock.unlock();
  if (watch) watch->close();
  lock.lock();
  task_.wake();  // behind close(): what reads takes a wake-up for itself
  const std::array<std::shared_ptr<Impl>, 3> lanes = lanes_;
  lock.unlock();
  if (shards_) shards_->shutdown();
  for (const std::shared_ptr<Impl>& lane : lanes) {
    if (lane) lane->shutdown();
  }
  task_.join();
  lock.lock();
  std::vector<ConnectionPtr> connections = std::move(retired_);
  if (connection_) connections.push_back(std::move(connection_));
  lock.unlock();
  for (const ConnectionPtr& connection : connections) connection->shutdown();
  if (pubsub_) pubsub_->shutdown();
}

}  // namespace holdfast::redis
