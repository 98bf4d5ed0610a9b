#include "lib/redis/cluster_shards.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "lib/redis/failure.h"
#include "lib/redis/listed.h"
#include "lib/redis/primary_finder.h"

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

constexpr std::size_t kMostRedirections = 5;

std::string in_ms(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

// Does nothing to keys, whatever became of the others of its group.
bool is_harmless(std::string_view name) {
  return name == "WAIT" || name == "MULTI" || name == "PING" || name == "ASKING";
}

}  // namespace

Client::Shards::Shards(Impl::Parts parts)
    : parts_(std::move(parts)),
      runtime_(*parts_.runtime),
      mutex_(runtime_),
      settled_(runtime_),
      task_(runtime_, "cluster map") {}

// --- calls -----------------------------------------------------------------------------------------------

Client::Impl::Sent Client::Shards::execute(std::span<const CommandView> commands, std::span<Reply> replies,
                                           MonotonicTime now, MonotonicTime deadline,
                                           const CallOptions& call) {
  Impl::Sent first;
  for (std::size_t begin = 0; begin < commands.size();) {
    std::optional<std::uint16_t> slot;
    std::size_t end = begin;
    for (; end < commands.size(); ++end) {
      const CommandSlot of = slot_of(commands[end]);
      if (of.several) {
        const std::string name(commands[end].name());
        throw Error(Kind::rejected, "", name, "CROSSSLOT", begin > 0,
                    name +
                        ": its keys lie in different hash slots of the Redis Cluster, and no node has them "
                        "all: give them one hash tag, as in {stock}:1 and {stock}:2" +
                        (begin > 0 ? " (commands before it were executed)" : " (it was not executed)"));
      }
      if (slot && of.slot && of.slot != slot) break;
      if (of.slot) slot = of.slot;
    }
    const std::size_t count = end - begin;
    const Impl::Sent sent =
        send(commands.subspan(begin, count), replies.subspan(begin, count), slot, now, deadline, call);
    if (begin == 0) first = sent;
    begin = end;
    if (begin < commands.size()) now = runtime_.now();
  }
  return first;
}

Client::Impl::Sent Client::Shards::send(std::span<const CommandView> commands, std::span<Reply> replies,
                                        std::optional<std::uint16_t> slot, MonotonicTime now,
                                        MonotonicTime deadline, const CallOptions& call) {
  const std::string_view name = commands.front().name();
  const MonotonicTime since = now;
  std::size_t redirections = 0, delays = 0;
  std::optional<std::size_t> asked;  // by ASK: this once
  std::string problem;
  for (;;) {
    std::optional<std::size_t> node = std::exchange(asked, std::nullopt);
    const bool asking = node.has_value();
    if (!node) {
      Lock lock(mutex_);
      node = place(lock, slot);
      if (!node && !map_.nodes.empty()) problem = "no node has hash slot " + std::to_string(slot.value_or(0));
    }
    const auto out_of_time = [&] {
      std::string last = problem;
      if (last.empty()) {
        const Lock lock(mutex_);
        last = last_problem_;
      }
      return failure(Kind::unavailable, "", name, false,
                     "no node of the cluster took it within " + in_ms(runtime_.now() - since) +
                         (last.empty() ? "" : "; last attempt: " + last) +
                         "; check that the servers run and that the addresses are right");
    };
    if (!node) {
      if (runtime_.now() >= deadline) throw out_of_time();
      await_map(wish(std::nullopt), deadline, name, call.stop);
      const Lock lock(mutex_);
      if (!map_.nodes.empty() && slot && !map_.at(*slot)) ++delays;
    } else {
      const std::shared_ptr<Impl> impl = impl_of(*node);
      now = runtime_.now();
      try {
        const Impl::Sent sent = asking ? send_asking(*impl, commands, replies, now, deadline, call)
                                       : impl->execute(commands, replies, now, deadline, call);
        const Reply* error = nullptr;
        const Trouble trouble = trouble_of(commands, replies, &error);
        if (trouble == Trouble::none) return sent;
        problem = parts_.servers->name(*node) + ": " + legible(error->text);
        if (runtime_.now() >= deadline) return sent;
        if (trouble == Trouble::later) {
          wish(std::nullopt);
          ++delays;
        } else {
          if (++redirections > kMostRedirections) {
            throw failure(Kind::unavailable, parts_.servers->name(*node), name, false,
                          "sent from node to node more than " + std::to_string(kMostRedirections) +
                              " times; last answer: " + legible(error->text));
          }
          const std::optional<std::size_t> to = redirected_to(*error, *node);
          if (trouble == Trouble::ask) {
            asked = to;
          } else {
            const std::uint64_t wished = wish(std::nullopt);
            Lock lock(mutex_);
            if (to && slot && !map_.nodes.empty()) map_.nodes[*slot] = static_cast<std::uint16_t>(*to);
            lock.unlock();
            if (!to) await_map(wished, deadline, name, call.stop);
          }
        }
      } catch (const NotConnected& error) {
        problem = error.what();
        if (runtime_.now() >= deadline) throw;
        await_map(wish(node), deadline, name, call.stop);
      } catch (const Error& error) {
        if (error.code().empty() && error.worth_another_attempt()) wish(node);
        throw;
      }
    }
    for (Reply& reply : replies) reply = Reply();
    if (delays > 0) pause(delays, deadline, name, call.stop);
    now = runtime_.now();
    if (now >= deadline) throw out_of_time();
  }
}

// ASKING holds for the command behind it.
Client::Impl::Sent Client::Shards::send_asking(Impl& node, std::span<const CommandView> commands,
                                               std::span<Reply> replies, MonotonicTime now,
                                               MonotonicTime deadline, const CallOptions& call) {
  static constexpr std::array<std::string_view, 1> kAsking = {"ASKING"};
  std::vector<CommandView> all;
  for (const CommandView& command : commands) {
    all.push_back({{kAsking, {}, {}}});
    all.push_back(command);
  }
  std::vector<Reply> answers(all.size());
  const Impl::Sent sent = node.execute(all, answers, now, deadline, call);
  for (std::size_t i = 0; i < replies.size(); ++i) replies[i] = std::move(answers[2 * i + 1]);
  return sent;
}

// Of a group that had no effect at all: what kept it from having one. `of`: the reply that says so.
Client::Shards::Trouble Client::Shards::trouble_of(std::span<const CommandView> commands,
                                                   std::span<const Reply> replies, const Reply** of) const {
  Trouble trouble = Trouble::none;
  for (const Reply& reply : replies) {
    if (!reply.is_error()) continue;
    const std::string code = reply.error_code();
    if (code == "MOVED") trouble = Trouble::moved;
    if (code == "ASK") trouble = Trouble::ask;
    if (code == "CLUSTERDOWN" || code == "TRYAGAIN" || code == "LOADING" || code == "MASTERDOWN" ||
        code == "READONLY")
      trouble = Trouble::later;
    if (trouble == Trouble::none) continue;
    *of = &reply;
    break;
  }
  if (trouble == Trouble::none) return trouble;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::string_view name = commands[i].name();
    if (is_harmless(name) || (replies[i].is_error() && says_not_executed(name, replies[i]))) continue;
    return Trouble::none;
  }
  return trouble;
}

// "MOVED 3999 127.0.0.1:6381". No host: that of who says so.
std::optional<std::size_t> Client::Shards::redirected_to(const Reply& error, std::size_t by) {
  const std::string& text = error.text;
  const std::size_t space = text.rfind(' '), colon = text.rfind(':');
  if (space == std::string::npos || colon == std::string::npos || colon < space) return std::nullopt;
  Endpoint to{text.substr(space + 1, colon - space - 1), 0};
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data() + colon + 1, end, to.port);
  if (problem != std::errc() || at != end || to.port == 0 || to.host == "?") return std::nullopt;
  if (to.host.empty()) to.host = parts_.servers->at(by).endpoint.host;
  return parts_.servers->at_address(to);
}

std::shared_ptr<Client::Impl> Client::Shards::impl_of(std::size_t node) {
  const Lock lock(mutex_);
  std::shared_ptr<Impl>& impl = nodes_[node];
  if (!impl) {
    impl = std::make_shared<Impl>(parts_, node);
    if (stopping_) impl->refuse_calls();
  }
  return impl;
}

// What has no key goes where slot 0 is. REQUIRES: the mutex is locked.
std::optional<std::size_t> Client::Shards::place(Lock&, std::optional<std::uint16_t> slot) const {
  if (slot) return map_.at(*slot);
  for (const std::uint16_t node : map_.nodes) {
    if (node != ClusterMap::kNobody) return node;
  }
  return std::nullopt;
}

std::size_t Client::Shards::node_of(std::string_view key) {
  Lock lock(mutex_);
  return place(lock, hash_slot(key)).value_or(0);
}

// --- the map ---------------------------------------------------------------------------------------------

// Asks for a map that is newer than this call. The number of the request.
std::uint64_t Client::Shards::wish(std::optional<std::size_t> not_first) {
  const Lock lock(mutex_);
  if (not_first) not_first_ = not_first;
  const std::uint64_t number = ++wished_;
  if (!stopping_ && !task_.start([self = shared_from_this()] { self->ask_until_done(); }))
    last_problem_ = "no task could be started that asks for the map of the cluster (no threads left?)";
  return number;
}

// [parks] Until an attempt that began after that request has ended, or the deadline.
void Client::Shards::await_map(std::uint64_t wished, MonotonicTime deadline, std::string_view command,
                               const std::stop_token& stop) {
  Lock lock(mutex_);
  Waiter waiter{&runtime_.parker()};
  const Listed listed(waiters_, waiter);  // taken off under the mutex, or in a killed process
  bool in_time = true;
  while (granted_ < wished) {
    if (stopping_) throw failure(Kind::unavailable, "", command, false, "the client is being destroyed");
    if (stop.stop_requested()) throw failure(Kind::interrupted, "", command, false, "the call was stopped");
    if (!in_time) return;
    MonotonicTime until = deadline;
    if (!task_.running() && !task_.start([self = shared_from_this()] { self->ask_until_done(); }))
      until = std::min(deadline, deadline_after(runtime_.now(), parts_.options->backoff_min));
    lock.unlock();
    in_time = waiter.parker->park_until(until) || until < deadline;
    lock.lock();
  }
  if (hopeless_ && map_.nodes.empty()) {
    throw Error(hopeless_->kind(), hopeless_->node(), std::string(command), hopeless_->code(), false,
                std::string(command) + ": " + hopeless_->what() + " (it was not executed)");
  }
}

// [parks] A while, longer each time.
void Client::Shards::pause(std::size_t failures, MonotonicTime deadline, std::string_view command,
                           const std::stop_token& stop) {
  const MonotonicTime until =
      std::min(deadline, deadline_after(runtime_.now(), backoff(runtime_, *parts_.options, failures)));
  Lock lock(mutex_);
  Waiter waiter{&runtime_.parker()};
  const Listed listed(waiters_, waiter);  // taken off under the mutex, or in a killed process
  for (bool more = true; more && runtime_.now() < until;) {
    if (stopping_) throw failure(Kind::unavailable, "", command, false, "the client is being destroyed");
    if (stop.stop_requested()) throw failure(Kind::interrupted, "", command, false, "the call was stopped");
    lock.unlock();
    more = waiter.parker->park_until(until);
    lock.lock();
  }
}

void Client::Shards::ask_until_done() {
  Lock lock(mutex_);
  BackgroundTask::Turn turn(task_);
  while (!stopping_ && granted_ < wished_) {
    const std::uint64_t answers = wished_;
    const std::optional<std::size_t> last = std::exchange(not_first_, std::nullopt);
    const ClusterMap known = map_;
    std::size_t pauses = failures_;
    for (const FollowerPtr& follower : followers_) {  // who goes astray for the first time moves at once
      if (follower->failed > 1) pauses = std::max(pauses, follower->failed - 1);
    }
    if (pauses > 0) {
      const MonotonicTime until = deadline_after(runtime_.now(), backoff(runtime_, *parts_.options, pauses));
      lock.unlock();
      runtime_.parker().park_until(until);
      lock.lock();
      if (stopping_) break;
    }
    settle_all(lock);  // MOVED has said where
    lock.unlock();
    ClusterAnswer answer =
        ask_cluster(runtime_, *parts_.network, *parts_.options, *parts_.servers, last, known);
    lock.lock();
    hopeless_.reset();
    last_problem_ = answer.why_not;
    if (answer.map) {
      failures_ = 0;
      map_ = std::move(*answer.map);
      parts_.known->ever_connected = true;
    } else {
      ++failures_;
      const bool may_come = parts_.known->ever_connected || parts_.options->wait_for_servers;
      if (answer.hopeless == Kind::unreachable && may_come) answer.hopeless.reset();
      if (answer.hopeless) {
        std::string what = answer.why_not;
        if (answer.hopeless == Kind::unreachable)
          what += "; check that the servers run and that the addresses are right";
        hopeless_.emplace(*answer.hopeless, answer.hopeless_node, "", answer.code, false, what);
      }
    }
    granted_ = answers;
    for (Waiter* const waiter : waiters_) waiter->parker->unpark();
    if (answer.map) move_ears(lock);
    settle_all(lock);
    for (const FollowerPtr& follower : followers_) {
      if (follower->ear || follower->moving) continue;  // nobody has its slot, or no task could be started
      ++follower->failed;
      ++wished_;
    }
  }
  turn.rest();
}

// --- the end ---------------------------------------------------------------------------------------------

void Client::Shards::shutdown() {
  Lock lock(mutex_);
  stopping_ = true;
  for (Waiter* const waiter : waiters_) waiter->parker->unpark();
  task_.wake();
  const std::map<std::size_t, std::shared_ptr<Impl>> nodes = nodes_;
  const std::vector<Ear> ears = ears_;
  const std::map<std::size_t, std::shared_ptr<Pubsub>> sharded = sharded_;
  lock.unlock();
  task_.join();
  for (const auto& [node, impl] : nodes) impl->shutdown();
  for (const Ear& ear : ears) ear.pubsub->shutdown();
  for (const auto& [node, pubsub] : sharded) pubsub->shutdown();
}

}  // namespace holdfast::redis
