#include "lib/lock/read_write/read_write_scripts.h"

#include <algorithm>
#include <charconv>

#include "generated/lock_scripts.h"
#include "lib/lock/engine/key_names.h"

namespace holdfast {

const redis::Script kReadWriteAcquire = lock_scripts::read_write_acquire;
const redis::Script kReadWriteRelease = lock_scripts::read_write_release;
const redis::Script kReadWriteRenew = lock_scripts::read_write_renew;
const redis::Script kReadWriteDowngrade = lock_scripts::read_write_downgrade;
const redis::Script kReadWriteForce = lock_scripts::read_write_force;

// "<head>\n<ms for which it counts as alive>\n<next>": the head asks at once, the next one when the head
// should turn out to be dead. No head: the queue is empty, and a waiter that hears this has lost its place
// with the queue and has to ask.
Duration heard_on_read_write_channel(std::string_view message, std::string_view owner) {
  const auto line = [&] {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view first = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    return first;
  };
  const std::string_view head = line();
  if (head.empty() || head == owner) return Duration::zero();
  const std::string_view alive = line();
  std::int64_t ms = 0;
  std::from_chars(alive.data(), alive.data() + alive.size(), ms);
  ms = std::clamp<std::int64_t>(ms, 0, 86'400'000);  // anybody can publish anything
  return line() == owner ? Duration(std::chrono::milliseconds(ms + 1)) : Wire::kForever;
}

namespace {

// "": everybody, "r": every reader, else the owner that is named.
Duration heard_by_reader(std::string_view message, std::string_view owner) {
  return message.empty() || message == "r" ? Duration::zero() : heard_on_read_write_channel(message, owner);
}

Duration heard_by_writer(std::string_view message, std::string_view owner) {
  return message.empty() ? Duration::zero() : heard_on_read_write_channel(message, owner);
}

}  // namespace

Wire read_write_wire(const std::string& key, Side side, bool fair, bool fencing) {
  const std::string readers = beside_key("holdfast:rw:readers", key);
  const std::string queue = beside_key("holdfast:rw:queue", key);
  const std::string writers = beside_key("holdfast:rw:writers", key);
  const std::string patience = beside_key("holdfast:rw:patience", key);
  const std::string channel = beside_key("holdfast:rw:channel", key);
  const bool reads = side == Side::read;
  Wire wire{.key = key,
            .acquire = &kReadWriteAcquire,
            .release = &kReadWriteRelease,
            .renew = &kReadWriteRenew,
            .force = &kReadWriteForce,
            .acquire_keys = {key, readers, queue, writers, patience},
            .release_keys = {key, readers, queue, writers, patience, channel},
            .renew_keys = {key, readers},
            .acquire_args = {reads ? "read" : "write"},
            .channel = channel,
            .heard = reads ? heard_by_reader : heard_by_writer,
            .exclusive = !reads,
            .local_queue = !fair,
            .asks_first = reads && !fair,
            .server_queue = fair,
            .mode = reads ? "read" : "write"};
  if (fencing) wire.acquire_keys.push_back(token_key(key));
  return wire;
}

}  // namespace holdfast
