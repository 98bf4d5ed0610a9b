#include "lib/redis/pubsub.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <span>
#include <utility>

#include "lib/redis/command.h"
#include "lib/redis/failure.h"
#include "lib/redis/hash_slot.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/role.h"
#include "lib/redis/warning.h"

namespace holdfast::redis {
namespace {

constexpr MonotonicTime kAtOnce{};  // a deadline that does not wait

}  // namespace

class Pubsub::Handle final : public Subscription {
 public:
  Handle(std::shared_ptr<Pubsub> pubsub, ListenerPtr listener)
      : pubsub_(std::move(pubsub)), listener_(std::move(listener)) {}
  ~Handle() override {
    try {
      pubsub_->remove(listener_);
    } catch (const TaskCancelled&) {  // the process is being killed: no callback runs any more
    }
  }

 private:
  const std::shared_ptr<Pubsub> pubsub_;
  const ListenerPtr listener_;
};

Pubsub::Pubsub(Runtime& runtime, Network& network, std::shared_ptr<const ClientOptions> options,
               std::shared_ptr<Servers> servers, std::function<void(std::size_t node)> on_trouble,
               std::function<void(std::size_t node)> on_found)
    : runtime_(runtime),
      network_(network),
      options_(std::move(options)),
      servers_(std::move(servers)),
      on_trouble_(std::move(on_trouble)),
      on_found_(std::move(on_found)),
      mutex_(runtime),
      callback_done_(runtime),
      task_(runtime, "subscription") {}

void Pubsub::be_sharded(OnStray on_stray) { on_stray_ = std::move(on_stray); }

std::unique_ptr<Subscription> Pubsub::subscribe(std::string channel,
                                                std::function<void(std::string_view)> on_message,
                                                std::function<void(std::string_view)> on_subscribed) {
  auto listener = std::make_shared<Listener>();
  listener->channel = std::move(channel);
  listener->on_message = std::move(on_message);
  listener->on_subscribed = std::move(on_subscribed);
  auto handle = std::make_unique<Handle>(shared_from_this(), listener);

  Lock lock(mutex_);
  Channel& entry = channels_[listener->channel];
  entry.listeners.push_back(listener);
  ++listeners_;
  if (stopping_) return handle;
  if (!task_.running()) {
    if (!task_.start([self = shared_from_this()] { self->run(); })) {
      const std::string_view command = subscribe_command();
      lock.unlock();  // the end of `handle` takes it back
      throw failure(Error::Kind::unavailable, "", command, false,
                    "no task could be started that listens (no threads left?)");
    }
  } else if (stream_) {
    // Once more also where the channel is subscribed already: the confirmation is what the listener waits
    // for.
    ask({Asked::What::subscribe, listener->channel});
    listener->awaits = entry.sent;
    write_queued(lock, kAtOnce);
  }
  return handle;
}

void Pubsub::remove(const ListenerPtr& listener) {
  Lock lock(mutex_);
  if (listener->active) {
    listener->active = false;
    --listeners_;
    const auto found = channels_.find(listener->channel);
    std::erase(found->second.listeners, listener);
    if (found->second.listeners.empty()) {
      if (!stream_ || found->second.sent == found->second.confirmed) channels_.erase(found);
      if (stream_ && listeners_ > 0) {
        ask({Asked::What::unsubscribe, listener->channel});
        write_queued(lock, kAtOnce);
      }
    }
    if (listeners_ == 0) {
      if (stream_) {
        stream_->close();
        left_ = true;
      }
      task_.wake();
    }
  }
  while (running_ == listener.get() && !task_.is_caller()) callback_done_.wait(lock);
}

void Pubsub::calls_go_to(std::size_t node) {
  const Lock lock(mutex_);
  primary_ = node;
  if (stream_ && node_ != node) stream_->close();  // the task comes back there
  if (!stream_) task_.wake();                      // it need not seek any longer
}

void Pubsub::shutdown() {
  Lock lock(mutex_);
  stopping_ = true;
  if (stream_) stream_->close();
  task_.wake();
  lock.unlock();
  task_.join();
}

// Queues a command. All or nothing, also where there is no memory: answers come in the order of asked_.
void Pubsub::ask(Asked asked) {
  asked_.push_back(std::move(asked));
  const auto& [what, channel] = asked_.back();
  std::array<std::string_view, 2> words = {"PING", channel};
  if (what == Asked::What::subscribe) words[0] = subscribe_command();
  if (what == Asked::What::unsubscribe) words[0] = unsubscribe_command();
  try {
    append_command(out_, {{std::span(words).first(what == Asked::What::ping ? 1 : 2), {}, {}}});
  } catch (const std::bad_alloc&) {
    asked_.pop_back();
    throw;
  }
  if (what != Asked::What::subscribe) return;
  Channel& entry = channels_.find(channel)->second;
  ++entry.sent;
  entry.refused = false;
}

// What the network takes by then. A connection that cannot take even that is stuck: it is closed, and
// everything is subscribed again on the next one.
bool Pubsub::write_queued(Lock& lock, MonotonicTime deadline) {
  if (writing_) return true;  // the task that writes takes it along
  const RoleGuard role(writing_);
  while (!out_.empty() && stream_) {
    const std::shared_ptr<Stream> stream = stream_;
    taken_.swap(out_);
    lock.unlock();
    const IoResult result = stream->write(taken_, deadline);
    lock.lock();
    const bool all = result.bytes == taken_.size();
    taken_.clear();
    if (all) continue;
    stream->close();
    if (stream == stream_) return false;
  }
  return true;
}

// --- the task --------------------------------------------------------------------------------------------

void Pubsub::run() {
  Lock lock(mutex_);
  BackgroundTask::Turn turn(task_);
  while (!stopping_ && listeners_ > 0) {
    if (failures_ > 0) {
      const MonotonicTime until = deadline_after(runtime_.now(), backoff(runtime_, *options_, failures_));
      lock.unlock();
      runtime_.parker().park_until(until);
      lock.lock();
      if (stopping_ || listeners_ == 0) break;
    }
    connect(lock);
    if (!stream_) continue;
    serve(lock);
    lost_ = !std::exchange(left_, false) && listeners_ > 0;
    stream_->close();
    stream_.reset();
  }
  turn.rest();
}

// Leaves stream_ null when it fails.
void Pubsub::connect(Lock& lock) {
  const std::size_t first = primary_;
  lock.unlock();
  Found found = options_->cluster ? connect_to_node(runtime_, network_, *options_, *servers_, first, false)
                                  : find_primary(runtime_, network_, *options_, *servers_, first);
  if (!found.stream && on_trouble_) on_trouble_(first);
  // The calls have gone elsewhere meanwhile, and know better than who was asked before that.
  const auto overtaken = [&] { return found.stream && primary_ != first && primary_ != found.node; };
  if (found.stream && on_found_ && !overtaken()) on_found_(found.node);
  lock.lock();
  if (overtaken()) return;  // there, at once
  ++failures_;              // until a subscription is confirmed
  if (!found.stream) return;
  if (std::exchange(lost_, false)) ++servers_->counts().reconnections;
  stream_ = std::move(found.stream);
  node_ = found.node;
  older_than_7_ = false;
  out_.clear();
  asked_.clear();
  refusals_ = 0;
  ask_again_ = kNever;
  subscribe_all();
  write_queued(lock, deadline_after(runtime_.now(), options_->connect_timeout));
}

void Pubsub::subscribe_all() {
  std::erase_if(channels_, [](const auto& channel) { return channel.second.listeners.empty(); });
  for (auto& [name, channel] : channels_) {
    channel.sent = channel.confirmed = 0;
    ask({Asked::What::subscribe, name});
    for (const ListenerPtr& listener : channel.listeners) {
      listener->awaits = channel.sent;
      listener->told = false;
    }
  }
}

// Until the connection ends.
void Pubsub::serve(Lock& lock) {
  const std::shared_ptr<Stream> stream = stream_;
  const std::size_t failures = failures_;
  const auto patience = [&](bool pinged) {
    return pinged ? options_->connect_timeout : options_->keep_alive.value_or(options_->command_timeout);
  };
  ReplyReader reader(options_->max_reply);
  Reply message;
  std::array<char, 1024> buffer;
  bool pinged = false;
  MonotonicTime silent = deadline_after(runtime_.now(), patience(pinged));  // for too long
  while (!stopping_ && listeners_ > 0) {
    const MonotonicTime until = std::min(silent, ask_again_);
    lock.unlock();
    const IoResult result = stream->read(buffer, until);
    lock.lock();
    if (result.status == IoStatus::timed_out) {
      if (until < silent) {
        ask_refused_again();
      } else if (std::exchange(pinged, true)) {
        return;  // dead
      } else {
        ask({Asked::What::ping, {}});
        silent = deadline_after(runtime_.now(), patience(pinged));
      }
      if (!write_queued(lock, kAtOnce)) return;
      continue;
    }
    if (!result.ok()) return;
    reader.feed({buffer.data(), result.bytes});
    ReplyReader::Next next;
    while ((next = reader.next(message)) == ReplyReader::Next::reply) {
      const std::optional<Asked> asked = answered(message);
      if (!message.is_error()) {
        dispatch(lock, message);
      } else if (!is_about_shards(lock, asked, message) && !is_about_one(lock, asked, message)) {
        failures_ = failures;  // also where a channel was confirmed
        return;                // still loading, ...: try again later
      }
    }
    if (next == ReplyReader::Next::broken) return;
    pinged = false;
    silent = deadline_after(runtime_.now(), patience(pinged));
  }
}

// What this is the answer to. nullopt: it comes unasked, as messages do.
std::optional<Pubsub::Asked> Pubsub::answered(const Reply& reply) {
  if (asked_.empty()) return std::nullopt;
  const Asked& first = asked_.front();
  if (!reply.is_error()) {
    const bool names = reply.type == Reply::Type::array && reply.items.size() >= 3;
    const std::string_view kind = names ? std::string_view(reply.items[0].text) : "pong";
    const bool answers = first.what == Asked::What::ping ? kind == "pong"
                         : first.what == Asked::What::subscribe
                             ? kind == "subscribe" || kind == "ssubscribe"
                             : kind == "unsubscribe" || kind == "sunsubscribe";
    if (!answers || (names && reply.items[1].text != first.channel)) return std::nullopt;
  }
  Asked asked = std::move(asked_.front());
  asked_.pop_front();
  return asked;
}

// Whether an error leaves the connection as it was: this user may not listen on one channel, or not leave it.
bool Pubsub::is_about_one(Lock& lock, const std::optional<Asked>& asked, const Reply& error) {
  if (error.error_code() != "NOPERM") return false;
  if (asked && asked->what == Asked::What::unsubscribe) return true;  // what comes on it goes to nobody
  if (!std::exchange(warned_, true)) {
    // Whoever waits is late each time, and nobody would know why.
    const std::string text = servers_->name(node_) + ": the server does not let this user listen (" +
                             legible(error.text) +
                             "): who waits is not called, and asks again when the lease is over; give the "
                             "user " +
                             std::string(subscribe_command()) + ", PING and the channels";
    lock.unlock();
    warn(*options_, text);
    lock.lock();
  }
  if (!asked || asked->what != Asked::What::subscribe) return false;
  const auto found = channels_.find(asked->channel);
  if (found == channels_.end()) return true;
  Channel& channel = found->second;
  channel.refused = true;
  ++channel.confirmed;
  if (channel.listeners.empty() && channel.confirmed == channel.sent) channels_.erase(found);
  if (ask_again_ == kNever)
    ask_again_ = deadline_after(runtime_.now(), backoff(runtime_, *options_, ++refusals_));
  return true;
}

// Rights can be given.
void Pubsub::ask_refused_again() {
  ask_again_ = kNever;
  for (const auto& [name, channel] : channels_) {
    if (channel.refused && !channel.listeners.empty()) ask({Asked::What::subscribe, name});
  }
}

// What a node says to SSUBSCRIBE that has not the slot, or is older than 7. The connection is good all the
// same.
bool Pubsub::is_about_shards(Lock& lock, const std::optional<Asked>& asked, const Reply& error) {
  if (!on_stray_) return false;
  if (error.text.starts_with("ERR unknown command")) {  // one for each channel
    if (std::exchange(older_than_7_, true)) return true;
    subscribe_all();
    write_queued(lock, kAtOnce);
    return true;
  }
  if (error.error_code() != "MOVED") return false;
  failures_ = 0;
  // It names the slot: what holds for one channel holds for all of them.
  std::uint16_t slot = 0;
  const std::string_view text = std::string_view(error.text).substr(std::string_view("MOVED ").size());
  std::from_chars(text.data(), text.data() + text.size(), slot);
  std::vector<std::string> strays;
  for (auto& [name, channel] : channels_) {
    if (hash_slot(name) != slot) continue;
    if (asked && asked->what == Asked::What::subscribe && asked->channel == name) ++channel.confirmed;
    if (!channel.listeners.empty()) strays.push_back(name);
  }
  const std::size_t node = node_;
  lock.unlock();
  for (const std::string& name : strays) on_stray_(node, name, &error);
  lock.lock();
  return true;
}

void Pubsub::dispatch(Lock& lock, const Reply& message) {
  if (message.type != Reply::Type::array || message.items.size() < 3) return;  // PONG
  const std::string& kind = message.items[0].text;
  const auto found = channels_.find(message.items[1].text);
  if (found == channels_.end()) return;
  Channel& channel = found->second;
  if (kind == "message" || kind == "smessage") {
    const std::vector<ListenerPtr> listeners = channel.listeners;
    for (const ListenerPtr& listener : listeners) {
      call(lock, listener, [&] { listener->on_message(message.items[2].text); });
    }
  } else if (kind == "sunsubscribe") {
    // Nobody here has left it: the slot has.
    if (!on_stray_ || channel.listeners.empty() || channel.confirmed < channel.sent) return;
    const std::string name = found->first;
    const std::size_t node = node_;
    lock.unlock();
    on_stray_(node, name, nullptr);
    lock.lock();
  } else if (kind == "subscribe" || kind == "ssubscribe") {
    failures_ = 0;
    ++channel.confirmed;
    if (channel.listeners.empty()) {
      if (channel.confirmed == channel.sent) channels_.erase(found);
      return;
    }
    std::vector<ListenerPtr> listeners;
    for (const ListenerPtr& listener : channel.listeners) {
      if (listener->told || channel.confirmed < listener->awaits) continue;
      listener->told = true;
      listeners.push_back(listener);
    }
    const std::string_view node = sharded() ? std::string_view(servers_->name(node_)) : std::string_view();
    for (const ListenerPtr& listener : listeners) {
      call(lock, listener, [&] { listener->on_subscribed(node); });
    }
  }
}

template <class Callback>
void Pubsub::call(Lock& lock, const ListenerPtr& listener, const Callback& callback) {
  if (!listener->active) return;
  running_ = listener.get();
  lock.unlock();
  callback();
  lock.lock();
  running_ = nullptr;
  callback_done_.notify_all();
}

}  // namespace holdfast::redis
