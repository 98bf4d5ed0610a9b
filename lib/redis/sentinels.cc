#include "lib/redis/sentinels.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/redis/failure.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/question.h"
#include "lib/runtime/task_pool.h"

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
  Question question;
  question.log_in(options.sentinel_user, options.sentinel_password);
  question.add({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.primary_name});
  question.add({"SENTINEL", "MASTER", options.primary_name});
  const MonotonicTime deadline = deadline_after(runtime.now(), options.connect_timeout);
  const Question::Answered answered = question.ask(runtime, network, sentinel.endpoint, deadline, options);
  if (!answered.why_not.empty()) return {.why_not = answered.why_not, .hopeless = answered.hopeless};
  // A Sentinel that wants no password refuses one; it answers all the same.
  if (answered.log_in && answered.log_in->is_error() && answered.replies[0].is_error())
    return refused(*answered.log_in);
  return read_word(answered.replies[0], answered.replies[1], options.primary_name);
}

}  // namespace

SentinelAnswer ask_sentinels(Runtime& runtime, Network& network, const ClientOptions& options,
                             std::optional<std::size_t> begin_with, const std::atomic<bool>& ended) {
  SentinelAnswer answer;
  std::int64_t epoch = -2;
  std::size_t answered = 0, unreachable = 0;
  const std::size_t most = options.sentinels.size();
  // Clients begin with different ones.
  const std::size_t first =
      begin_with ? *begin_with : static_cast<std::size_t>(runtime.random_between(0, most - 1));
  TaskPool beside(runtime, "seeker", Duration::zero());
  for (std::size_t asked = 0; asked < most && 2 * answered <= most && !ended;) {
    const std::size_t now = std::min(most - asked, most / 2 + 1 - answered);
    std::vector<Word> words(now);
    std::vector<std::function<void()>> questions;
    for (std::size_t i = 0; i < now; ++i) {
      const Node& sentinel = options.sentinels[(first + asked + i) % most];
      questions.push_back([&, &word = words[i]] { word = ask(runtime, network, options, sentinel); });
    }
    beside.run_all(std::move(questions));
    for (Word& word : words) {
      const Node& sentinel = options.sentinels[(first + asked++) % most];
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
  }
  if (answered > 0) return {.primary = std::move(answer.primary)};
  if (unreachable == most) answer.hopeless = Kind::unreachable;
  return answer;
}

}  // namespace holdfast::redis
