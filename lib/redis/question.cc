#include "lib/redis/question.h"

#include <array>
#include <utility>

#include "lib/redis/command.h"
#include "lib/redis/failure.h"
#include "lib/redis/reply_reader.h"

namespace holdfast::redis {

using Kind = Error::Kind;

void Question::add(std::initializer_list<std::string_view> command) {
  append_command(bytes_, {{Arguments(command.begin(), command.size()), {}, {}}});
  ++awaited_;
}

void Question::log_in(std::string_view user, std::string_view password) {
  if (password.empty()) return;
  std::string first;
  const std::array<std::string_view, 3> command = {"AUTH", user.empty() ? password : user, password};
  append_command(first, {{Arguments(command.data(), user.empty() ? 2 : 3), {}, {}}});
  bytes_.insert(0, first);
  logs_in_ = true;
}

Question::Answered Question::ask(Runtime& runtime, Network& network, const Endpoint& of,
                                 MonotonicTime deadline, const ClientOptions& options) const {
  const Connected connected = network.connect(of, deadline);
  if (!connected.stream) {
    Answered answered{.why_not = describe(connected.status, connected.why)};
    if (connected.status == IoStatus::untrusted) answered.hopeless = Kind::untrusted;
    if (connected.status == IoStatus::refused || connected.status == IoStatus::unreachable)
      answered.hopeless = Kind::unreachable;
    return answered;
  }
  bool silent = true;
  const auto broken = [&](IoStatus status) {
    const std::string more = connected.stream->trouble();
    Answered answered{.why_not = silent ? ended_without_a_word(status, more, options.tls.has_value())
                                        : describe(status, more)};
    if (status == IoStatus::untrusted) answered.hopeless = Kind::untrusted;
    return answered;
  };
  if (const IoResult wrote = connected.stream->write(bytes_, deadline); !wrote.ok())
    return broken(wrote.status);
  ReplyReader reader(options.max_reply);
  Answered answered;
  std::array<char, 4096> buffer;
  while (answered.replies.size() < awaited_) {
    Reply reply;
    const ReplyReader::Next next = reader.next(reply);
    if (next == ReplyReader::Next::broken)
      return {.why_not = "does not speak RESP (" + reader.error() + ")", .hopeless = Kind::protocol};
    if (next == ReplyReader::Next::reply) {
      if (logs_in_ && !answered.log_in) {
        answered.log_in = std::move(reply);
      } else {
        answered.replies.push_back(std::move(reply));
      }
      continue;
    }
    if (runtime.now() >= deadline) return {.why_not = std::string(to_string(IoStatus::timed_out))};
    const IoResult got = connected.stream->read(buffer, deadline);
    if (!got.ok()) return broken(got.status);
    silent = false;
    reader.feed({buffer.data(), got.bytes});
  }
  return answered;
}

}  // namespace holdfast::redis
