#include "lib/redis/sentinels.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/redis/command.h"
#include "lib/redis/failure.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/reply_reader.h"

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

// What one Sentinel said.
struct Word {
  std::optional<Endpoint> primary = std::nullopt;
  std::int64_t epoch = -1;  // of the configuration; -1: not told
  std::string why_not = {};
  std::optional<Kind> hopeless = std::nullopt;
  std::string code = {};
};

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, into);
  return error == std::errc() && at == end;
}

Word refused(const Reply& reply) {
  const std::string code = reply.error_code();
  Word word{.why_not = legible(reply.text, 600), .code = code};
  if (code == "NOAUTH" || code == "WRONGPASS" || code == "NOPERM" || code == "DENIED") {
    word.why_not += ": check sentinel_user and sentinel_password in ClientOptions";
    word.hopeless = Kind::unauthorized;
  } else if (reply.text.starts_with("ERR unknown command")) {
    word.why_not = "is no Sentinel (" + word.why_not + ")";
    word.hopeless = Kind::unsupported;
  }
  return word;
}

// The replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER.
Word read_word(const Reply& address, const Reply& details, const std::string& name) {
  if (address.is_error()) return refused(address);
  if (address.is_nil()) {
    return {.why_not = "knows no primary `" + legible(name, 100) + "`: check primary_name in ClientOptions",
            .hopeless = Kind::unreachable};
  }
  Word word;
  Endpoint endpoint;
  if (address.type != Reply::Type::array || address.items.size() != 2 || address.items[0].text.empty() ||
      !read_number(address.items[1].text, endpoint.port) || endpoint.port == 0) {
    return {.why_not = "does not answer as a Sentinel does", .hopeless = Kind::protocol};
  }
  endpoint.host = address.items[0].text;
  word.primary = std::move(endpoint);
  for (std::size_t i = 0; i + 1 < details.items.size(); i += 2) {
    if (details.items[i].text == "config-epoch" && !read_number(details.items[i + 1].text, word.epoch))
      word.epoch = -1;
  }
  return word;
}

Word ask(Runtime& runtime, Network& network, const ClientOptions& options, const Node& sentinel) {
  const MonotonicTime deadline = deadline_after(runtime.now(), options.connect_timeout);
  const Connected connected = network.connect(sentinel.endpoint, deadline);
  if (!connected.stream) {
    Word word{.why_not = std::string(to_string(connected.status))};
    if (connected.status == IoStatus::refused || connected.status == IoStatus::unreachable)
      word.hopeless = Kind::unreachable;
    return word;
  }
  std::string bytes;
  std::size_t awaited = 0;
  const auto add = [&](std::initializer_list<std::string_view> command) {
    append_command(bytes, {{Arguments(command.begin(), command.size()), {}, {}}});
    ++awaited;
  };
  const bool logs_in = !options.sentinel_password.empty();
  if (logs_in && options.sentinel_user.empty()) add({"AUTH", options.sentinel_password});
  if (logs_in && !options.sentinel_user.empty())
    add({"AUTH", options.sentinel_user, options.sentinel_password});
  add({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.primary_name});
  add({"SENTINEL", "MASTER", options.primary_name});
  if (const IoResult wrote = connected.stream->write(bytes, deadline); !wrote.ok())
    return {.why_not = std::string(to_string(wrote.status))};

  ReplyReader reader(options.max_reply);
  std::vector<Reply> replies;
  std::array<char, 1024> buffer;
  while (replies.size() < awaited) {
    Reply reply;
    const ReplyReader::Next next = reader.next(reply);
    if (next == ReplyReader::Next::broken)
      return {.why_not = "does not speak RESP (" + reader.error() + ")", .hopeless = Kind::protocol};
    if (next == ReplyReader::Next::reply) {
      replies.push_back(std::move(reply));
      continue;
    }
    if (runtime.now() >= deadline) return {.why_not = std::string(to_string(IoStatus::timed_out))};
    const IoResult got = connected.stream->read(buffer, deadline);
    if (!got.ok()) return {.why_not = std::string(to_string(got.status))};
    reader.feed({buffer.data(), got.bytes});
  }
  // A Sentinel that wants no password refuses one; it answers all the same.
  if (logs_in && replies[0].is_error() && replies[1].is_error()) return refused(replies[0]);
  return read_word(replies[awaited - 2], replies[awaited - 1], options.primary_name);
}

}  // namespace

SentinelAnswer ask_sentinels(Runtime& runtime, Network& network, const ClientOptions& options) {
  SentinelAnswer answer;
  std::int64_t epoch = -2;
  std::size_t answered = 0, unreachable = 0;
  const std::size_t most = options.sentinels.size();
  // Clients begin with different ones.
  const auto first = static_cast<std::size_t>(runtime.random_between(0, most - 1));
  for (std::size_t i = 0; i < most && 2 * answered <= most; ++i) {
    const Node& sentinel = options.sentinels[(first + i) % most];
    Word word = ask(runtime, network, options, sentinel);
    if (word.primary) {
      ++answered;
      if (word.epoch > epoch) {
        epoch = word.epoch;
        answer.primary = std::move(word.primary);
      }
      continue;
    }
    if (word.hopeless == Kind::unreachable) {
      ++unreachable;
    } else if (word.hopeless && !answer.hopeless) {
      answer.hopeless = word.hopeless;
      answer.code = std::move(word.code);
      answer.hopeless_node = node_name(sentinel);
    }
    if (!answer.why_not.empty()) answer.why_not += "; ";
    answer.why_not += "Sentinel " + node_name(sentinel) + ": " + word.why_not;
  }
  if (answered > 0) return {.primary = std::move(answer.primary)};
  if (unreachable == most) answer.hopeless = Kind::unreachable;
  return answer;
}

}  // namespace holdfast::redis
