#include "sim/external/effects_port.h"

#include <optional>
#include <vector>

namespace holdfast::sim {
namespace {

using checker::Function;

constexpr const char* kHelp =
    "ERROR expected READ, WRITE <units> or SELL <units left>; WRITE and SELL take IF <units read> or TOKEN "
    "<n>; "
    "before them @<thread>";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<std::int64_t> whole(std::string_view word) {
  const auto number = take_number(word);
  return number && word.empty() ? number : std::nullopt;
}

}  // namespace

std::string EffectsPort::answer(std::string_view request) {
  std::vector<std::string_view> words = words_of(request);
  ToldClient::Effect effect;
  if (!words.empty() && words.front().starts_with('@')) {
    const auto thread = whole(words.front().substr(1));
    if (!thread || *thread < 0 || *thread > 999) return kHelp;
    effect.thread = static_cast<int>(*thread);
    words.erase(words.begin());
  }
  if (words.empty()) return kHelp;
  if (!alive_()) return "ERROR this client is dead";
  effects_.used = true;
  if (words.front() == "READ" && words.size() == 1) {
    effect.f = Function::read;
    effect.value = effects_.units;
    sink_(effect);
    return std::to_string(effects_.units);
  }
  effect.sells = words.front() == "SELL";
  if ((words.front() != "WRITE" && !effect.sells) || (words.size() != 2 && words.size() != 4)) return kHelp;
  const auto units = whole(words[1]);
  const auto shown = words.size() == 4 ? whole(words[3]) : std::nullopt;
  const bool compares = words.size() == 4 && words[2] == "IF",
             fences = words.size() == 4 && words[2] == "TOKEN";
  if (!units || (words.size() == 4 && (!shown || (!compares && !fences)))) return kHelp;
  effect.f = compares ? Function::cas : Function::write;
  effect.value = *units;
  if (shown) effect.shown = *shown;
  std::string reply = "OK";
  if (compares && effects_.units != *shown) {
    effect.failed = "conflict";
    reply = "CONFLICT " + std::to_string(effects_.units);
  } else if (fences && *shown < effects_.newest_token) {
    effect.failed = "stale token";
    reply = "STALE " + std::to_string(effects_.newest_token);
  } else {
    if (fences) effects_.newest_token = *shown;
    effects_.units = *units;
  }
  sink_(effect);
  return reply;
}

}  // namespace holdfast::sim
