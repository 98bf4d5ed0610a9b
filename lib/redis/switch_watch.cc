#include "lib/redis/switch_watch.h"

#include <array>
#include <charconv>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "lib/redis/command.h"

namespace holdfast::redis {
namespace {

constexpr std::string_view kChannel = "+switch-master";

std::string greeting(const ClientOptions& options) {
  std::string bytes;
  const auto add = [&](Arguments command) { append_command(bytes, {{command, {}, {}}}); };
  const std::string_view user = options.sentinel_user, password = options.sentinel_password;
  if (!password.empty()) {
    const std::array<std::string_view, 3> login = {"AUTH", user.empty() ? password : user, password};
    add(Arguments(login).first(user.empty() ? 2 : 3));
  }
  add(std::array<std::string_view, 2>{"SUBSCRIBE", kChannel});
  return bytes;
}

}  // namespace

SwitchWatch::SwitchWatch(Runtime& runtime, Network& network, std::shared_ptr<const ClientOptions> options)
    : runtime_(runtime),
      network_(network),
      options_(std::move(options)),
      which_(static_cast<std::size_t>(runtime.random_between(0, options_->sentinels.size() - 1))),
      mutex_(runtime) {}

bool SwitchWatch::wait_until(MonotonicTime deadline) {
  told_.reset();
  if (stream() == nullptr) {
    if (!connect(deadline)) return rest(deadline);
    if (!std::exchange(begun_, true)) return true;
  }
  const std::shared_ptr<Stream> listened = stream();
  for (;;) {
    Reply message;
    ReplyReader::Next next;
    while ((next = reader_->next(message)) == ReplyReader::Next::reply) {
      if (heard_switch(message)) return true;
    }
    std::array<char, 512> buffer;
    const IoResult got =
        next == ReplyReader::Next::broken ? IoResult{IoStatus::reset, 0} : listened->read(buffer, deadline);
    if (got.status == IoStatus::timed_out) return false;
    if (!got.ok()) return rest(deadline);
    reader_->feed({buffer.data(), got.bytes});
  }
}

// This Sentinel cannot be heard: the next one, but not before the deadline.
bool SwitchWatch::rest(MonotonicTime deadline) {
  drop();
  which_ = (which_ + 1) % options_->sentinels.size();
  if (runtime_.now() < deadline) runtime_.parker().park_until(deadline);
  return false;
}

// True: it listens.
bool SwitchWatch::connect(MonotonicTime deadline) {
  Connected connected = network_.connect(options_->sentinels[which_].endpoint, deadline);
  if (!connected.stream) return false;
  const std::shared_ptr<Stream> made = std::move(connected.stream);
  {
    const std::scoped_lock guard(mutex_);
    if (closed_) return false;
    stream_ = made;
  }
  reader_ = std::make_unique<ReplyReader>(options_->max_reply);
  bool listens = made->write(greeting(*options_), deadline).ok();
  while (listens) {
    Reply reply;
    const ReplyReader::Next next = reader_->next(reply);
    if (next == ReplyReader::Next::reply && reply.type == Reply::Type::array) return true;
    if (next == ReplyReader::Next::reply && !reply.is_error()) continue;            // AUTH
    if (next == ReplyReader::Next::reply && reply.error_code() == "ERR") continue;  // it wants no password
    std::array<char, 512> buffer;
    const IoResult got =
        next == ReplyReader::Next::incomplete ? made->read(buffer, deadline) : IoResult{IoStatus::reset, 0};
    listens = got.ok();
    if (listens) reader_->feed({buffer.data(), got.bytes});
  }
  return false;
}

// {"message", "+switch-master", "NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT"}
bool SwitchWatch::heard_switch(const Reply& message) {
  if (message.type != Reply::Type::array || message.items.size() != 3 || message.items[0].text != "message" ||
      message.items[1].text != kChannel || !message.items[2].text.starts_with(options_->primary_name + ' '))
    return false;
  const std::string_view text = message.items[2].text;
  const std::size_t port_at = text.rfind(' '), host_at = text.rfind(' ', port_at - 1);
  Endpoint told;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + port_at + 1, end, told.port);
  if (error != std::errc() || at != end || told.port == 0 || host_at >= port_at) return true;
  told.host = text.substr(host_at + 1, port_at - host_at - 1);
  if (!told.host.empty()) told_ = std::move(told);
  return true;
}

std::shared_ptr<Stream> SwitchWatch::stream() {
  const std::scoped_lock guard(mutex_);
  return stream_;
}

void SwitchWatch::drop() {
  const std::scoped_lock guard(mutex_);
  if (stream_ != nullptr) stream_->close();
  stream_ = nullptr;
}

void SwitchWatch::close() {
  const std::scoped_lock guard(mutex_);
  closed_ = true;
  if (stream_ != nullptr) stream_->close();
}

}  // namespace holdfast::redis
