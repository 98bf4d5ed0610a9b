#include "lib/lock/waiting/wake_channel.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lib/redis/hash_slot.h"

namespace holdfast {
namespace {

// Takes it off `text`, with the space behind it.
std::string_view first_word(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

std::int64_t number_in(std::string_view word) {
  std::int64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

}  // namespace

WakeChannel::Listener::Listener(WakeChannel& channel, std::string tag, std::string owner, Call call)
    : channel_(channel), tag_(std::move(tag)), owner_(std::move(owner)), call_(std::move(call)) {}

WakeChannel::Listener::~Listener() {
  try {
    const std::scoped_lock guard(channel_.mutex_);
    const auto ear = channel_.ears_.find(tag_);
    if (ear == channel_.ears_.end()) return;
    ear->second.listeners.erase(owner_);
    if (!ear->second.listeners.empty()) return;
    ear->second.idle_since = channel_.store_.runtime().now();
    if (channel_.closing_) return;
    static_cast<void>(channel_.task_.start([&channel = channel_] { channel.linger(); }));
  } catch (const TaskCancelled&) {  // the process is being killed
  }
}

WakeChannel::WakeChannel(Store& store, std::string_view uuid, LateRelease& late_release)
    : store_(store),
      late_release_(late_release),
      name_("holdfast:wake:" + std::string(uuid)),
      mutex_(store.runtime()),
      closed_(store.runtime()),
      task_(store.runtime(), "linger") {}

WakeChannel::~WakeChannel() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      closed_.notify_all();
    }
    task_.join();
  } catch (const TaskCancelled&) {
  }
}

// What the scripts take from the name beside the lock's key (sharded.lua).
std::string WakeChannel::tag_of(const Wire& wire) const {
  if (!store_.options().cluster || wire.release_keys.size() < 2) return {};
  return std::string("{").append(redis::hash_tag(wire.release_keys[1])).append("}");
}

std::unique_ptr<WakeChannel::Listener> WakeChannel::listen_if_in_force(const Wire& wire,
                                                                       const std::string& owner, Call call) {
  if (in_force_ == 0) return nullptr;
  std::string tag = tag_of(wire);
  const std::scoped_lock guard(mutex_);
  const auto ear = ears_.find(tag);
  if (ear == ears_.end() || !ear->second.in_force) return nullptr;
  auto listener = std::make_unique<Listener>(*this, std::move(tag), owner, std::move(call));
  ear->second.listeners[owner] = listener.get();
  return listener;
}

std::unique_ptr<WakeChannel::Listener> WakeChannel::listen(const Wire& wire, const std::string& owner,
                                                           Call call) {
  const std::string tag = tag_of(wire);
  auto listener = std::make_unique<Listener>(*this, tag, owner, std::move(call));
  const std::scoped_lock guard(mutex_);
  Ear& ear = ears_[tag];
  ear.listeners[owner] = listener.get();
  if (ear.in_force) {
    listener->call_({});
  } else if (!ear.subscription) {
    ear.number = ++subscriptions_;
    ear.subscription = store_.subscribe_sharded(
        name_ + tag, [this, tag](std::string_view message) { on_message(tag, message); },
        [this, tag, number = ear.number](std::string_view node) { on_subscribed(tag, number, node); });
  }
  return listener;
}

void WakeChannel::on_message(const std::string& tag, std::string_view message) {
  const std::string_view owner = first_word(message);
  const std::string_view what = first_word(message);
  WakeCall call;
  if (what == "held") {
    call.held = number_in(first_word(message));
    if (const std::int64_t token = number_in(first_word(message)); token > 0) {
      call.token = static_cast<std::uint64_t>(token);
    }
  } else {  // anybody can publish anything
    call.ask_in = std::chrono::milliseconds(std::clamp<std::int64_t>(number_in(what), 0, 86'400'000));
  }
  {
    const std::scoped_lock guard(mutex_);
    const auto ear = ears_.find(tag);
    if (ear != ears_.end()) {
      const auto found = ear->second.listeners.find(owner);
      if (found != ear->second.listeners.end()) {
        call.node = ear->second.node;
        call.since = ear->second.since;
        if (store_.options().cluster && call.node.empty() && call.held != 0) call = {};  // it is to ask
        return found->second->call_(call);
      }
    }
  }
  if (call.held != 0) give_back(owner);
}

void WakeChannel::gave_up(std::string owner, std::shared_ptr<const Wire> wire, MonotonicTime until) {
  const std::scoped_lock guard(mutex_);
  const MonotonicTime now = store_.runtime().now();
  while (!gone_.empty() && (gone_.size() >= kMostGone || gone_.front().until <= now)) gone_.pop_front();
  gone_.push_back({std::move(owner), std::move(wire), until});
}

// The server has made somebody the holder who does not want it any more. An owner that is neither listening
// nor gone holds the lock by now.
void WakeChannel::give_back(std::string_view owner) {
  Gone gone;
  {
    const std::scoped_lock guard(mutex_);
    const auto found =
        std::find_if(gone_.begin(), gone_.end(), [&](const Gone& one) { return one.owner == owner; });
    if (found == gone_.end()) return;
    gone = *found;
  }
  late_release_.add(std::move(gone.wire), std::move(gone.owner), gone.until);
}

void WakeChannel::on_subscribed(const std::string& tag, std::uint64_t number, std::string_view node) {
  const std::scoped_lock guard(mutex_);
  const auto found = ears_.find(tag);
  if (found == ears_.end() || found->second.number != number || !found->second.subscription) return;
  Ear& ear = found->second;
  if (!std::exchange(ear.in_force, true)) ++in_force_;
  ear.node = node;
  ear.since = store_.runtime().now();
  for (const auto& [owner, listener] : ear.listeners) listener->call_({});
}

// Ends each subscription to which nobody has listened for kLinger. Returns when somebody listens to all that
// are left; the last one to leave then starts it anew.
void WakeChannel::linger() {
  std::vector<std::unique_ptr<redis::Subscription>>
      over;  // ended without the mutex: that waits for callbacks
  std::unique_lock guard(mutex_);
  BackgroundTask::Turn turn(task_);
  for (;;) {
    const MonotonicTime now = store_.runtime().now();
    std::optional<MonotonicTime> next;
    for (auto it = ears_.begin(); it != ears_.end();) {
      Ear& ear = it->second;
      const MonotonicTime end = ear.idle_since + kLinger;
      if (ear.listeners.empty() && (closing_ || now >= end)) {
        if (ear.in_force) --in_force_;
        over.push_back(std::move(ear.subscription));
        it = ears_.erase(it);
        continue;
      }
      if (ear.listeners.empty()) next = std::min(next.value_or(end), end);
      ++it;
    }
    if (!next) break;
    if (over.empty()) {
      closed_.wait_until(guard, *next, [this] { return closing_; });
    } else {
      guard.unlock();
      over.clear();
      guard.lock();
    }
  }
  turn.rest();
  guard.unlock();
}

}  // namespace holdfast
