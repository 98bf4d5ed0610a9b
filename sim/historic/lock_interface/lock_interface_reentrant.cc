#include "sim/historic/lock_interface/lock_interface_reentrant.h"

#include <charconv>
#include <mutex>

namespace holdfast::historic {
namespace {

template <class Number>
bool take(std::string_view& text, std::string_view before, Number& number) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return true;
}

}  // namespace

std::uint64_t ThreadNumbers::mine() {
  const std::scoped_lock guard(mutex_);
  return numbers_.try_emplace(runtime_.task_id(), numbers_.size() + 1).first->second;
}

std::string LockInterfaceReentrant::Value::text() const {
  return "{\"threadId\":" + std::to_string(thread) + ",\"count\":" + std::to_string(count) + "}";
}

std::optional<LockInterfaceReentrant::Value> LockInterfaceReentrant::Value::parse(std::string_view text) {
  Value value;
  if (!take(text, "{\"threadId\":", value.thread) || !take(text, ",\"count\":", value.count) || text != "}") {
    return std::nullopt;
  }
  return value;
}

LockInterfaceReentrant::LockInterfaceReentrant(redis::Client& client, LockOptions options, std::string key,
                                               ThreadNumbers& threads)
    : PollingLock(client, std::move(options), key, key), threads_(threads) {}

std::optional<PollingLock::Granted> LockInterfaceReentrant::attempt() {
  if (is_held_by_me()) return Granted{.acquisition = "", .reentry = true};
  const std::uint64_t me = threads_.mine();
  if (std::optional<Granted> grant = set_if_absent(Value{me, 1}.text())) {
    grant->acquisition = name_of(me);
    return grant;
  }
  std::optional<Value> value = Value::parse(client_.call({"GET", store_key_}).reply.text);
  if (!value || value->thread != me) return std::nullopt;
  ++value->count;
  return Granted{.acquisition = name_of(me), .answer = write(*value)};
}

std::string LockInterfaceReentrant::name_of(std::uint64_t thread) const {
  return "thread " + std::to_string(thread) + " at " + key();
}

redis::Answer LockInterfaceReentrant::write(const Value& value) {
  const std::string text = value.text(), lease = lease_ms();
  return client_.call({"SET", store_key_, text, "PX", lease});
}

std::optional<redis::Answer> LockInterfaceReentrant::remove(const std::string& acquisition) {
  if (acquisition.empty()) return std::nullopt;
  std::optional<Value> value = Value::parse(client_.call({"GET", store_key_}).reply.text);
  if (!value || value->thread != threads_.mine()) return std::nullopt;
  if (--value->count > 0) return write(*value);
  return client_.call({"DEL", store_key_});
}

}  // namespace holdfast::historic
