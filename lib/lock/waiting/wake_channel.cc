#include "lib/lock/waiting/wake_channel.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

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

WakeChannel::Listener::Listener(WakeChannel& channel, std::string owner, Call call)
    : channel_(channel), owner_(std::move(owner)), call_(std::move(call)) {}

WakeChannel::Listener::~Listener() {
  try {
    const std::scoped_lock guard(channel_.mutex_);
    channel_.listeners_.erase(owner_);
    if (!channel_.listeners_.empty()) return;
    channel_.idle_since_ = channel_.store_.runtime().now();
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

std::unique_ptr<WakeChannel::Listener> WakeChannel::listen_if_in_force(const std::string& owner, Call call) {
  if (!in_force_) return nullptr;
  const std::scoped_lock guard(mutex_);
  if (!in_force_) return nullptr;
  auto listener = std::make_unique<Listener>(*this, owner, std::move(call));
  listeners_[owner] = listener.get();
  return listener;
}

std::unique_ptr<WakeChannel::Listener> WakeChannel::listen(const std::string& owner, Call call) {
  auto listener = std::make_unique<Listener>(*this, owner, std::move(call));
  const std::scoped_lock guard(mutex_);
  listeners_[owner] = listener.get();
  if (in_force_) {
    listener->call_({});
  } else if (!subscription_) {
    subscription_ = store_.subscribe(
        name_, [this](std::string_view message) { on_message(message); },
        [this, number = ++subscriptions_] { on_subscribed(number); });
  }
  return listener;
}

void WakeChannel::on_message(std::string_view message) {
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
    const auto found = listeners_.find(owner);
    if (found != listeners_.end()) {
      if (store_.options().cluster && call.held != 0) call = {};  // it is to ask
      return found->second->call_(call);
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

void WakeChannel::on_subscribed(std::uint64_t subscription) {
  const std::scoped_lock guard(mutex_);
  if (subscription != subscriptions_ || !subscription_) return;
  in_force_ = true;
  for (const auto& [owner, listener] : listeners_) listener->call_({});
}

// Returns when nobody has listened for kLinger, or when somebody listens again; the last one to leave then
// starts it anew.
void WakeChannel::linger() {
  std::unique_ptr<redis::Subscription> over;  // ended without the mutex: that waits for its callbacks
  std::unique_lock guard(mutex_);
  BackgroundTask::Turn turn(task_);
  while (!closing_ && listeners_.empty() && store_.runtime().now() < idle_since_ + kLinger) {
    const MonotonicTime end = idle_since_ + kLinger;
    closed_.wait_until(guard, end, [this] { return closing_; });
  }
  turn.rest();
  if (!listeners_.empty()) return;
  in_force_ = false;
  over = std::move(subscription_);
  guard.unlock();
}

}  // namespace holdfast
