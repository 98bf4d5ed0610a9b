#include "sim/watched/pattern.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>

namespace holdfast::sim {
namespace {

constexpr std::array<std::string_view, 6> kHoles{"key", "owner", "lease", "lease_s", "permits", "limit"};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool same(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](char a, char b) { return lower(a) == lower(b); });
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool match_words(const std::vector<WordPattern>& patterns, const Words& line, std::size_t from,
                 Filled& filled) {
  if (from + patterns.size() > line.size()) return false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!patterns[i].matches(line[from + i], filled)) return false;
  }
  return true;
}

std::string text_of(const redis::Reply& answer) {
  using Type = redis::Reply::Type;
  return answer.type == Type::integer ? std::to_string(answer.integer) : answer.text;
}

}  // namespace

WordPattern::WordPattern(std::string text) {
  const std::size_t hole = text.find('$');
  any_ = text == "*";
  before_ = text.substr(0, hole);
  if (hole == std::string::npos) return;
  std::size_t end = hole + 1;
  while (end < text.size() && (std::islower(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
    ++end;
  }
  const std::string name = text.substr(hole + 1, end - hole - 1);
  const auto* const known = std::ranges::find(kHoles, name);
  after_ = text.substr(end);
  if (known == kHoles.end()) {
    throw std::invalid_argument("`$" + name +
                                "` is unknown, expected $key, $owner, $lease, $lease_s, $permits or $limit");
  }
  if (after_.find('$') != std::string::npos) {
    throw std::invalid_argument("`" + text + "` has two holes, expected one a word");
  }
  hole_ = *known;
}

bool WordPattern::matches(std::string_view word, Filled& filled) const {
  if (any_) return true;
  if (hole_.empty()) return same(word, before_);
  if (word.size() < before_.size() + after_.size() || !word.starts_with(before_) || !word.ends_with(after_)) {
    return false;
  }
  const std::string_view value = word.substr(before_.size(), word.size() - before_.size() - after_.size());
  return filled.try_emplace(hole_, value).first->second == value;
}

std::optional<Filled> LinePattern::match(const Words& line) const {
  Filled filled;
  if (!match_words(words, line, 0, filled)) return std::nullopt;
  std::vector<bool> met(options.size(), false);
  std::size_t at = words.size();
  while (at < line.size()) {
    bool found = false;
    for (std::size_t i = 0; i < options.size() && !found; ++i) {
      Filled with = filled;
      if (met[i] || !match_words(options[i], line, at, with)) continue;
      filled = std::move(with);
      met[i] = found = true;
      at += options[i].size();
    }
    if (found) continue;
    if (!open) return std::nullopt;
    ++at;
  }
  if (std::ranges::find(met, false) != met.end()) return std::nullopt;
  return filled;
}

LinePattern parse_line(std::string_view text, const std::vector<std::string>& options) {
  LinePattern line;
  for (std::string& word : split(text)) {
    if (line.open) throw std::invalid_argument("`...` stands at the end only");
    if (word == "...") {
      line.open = true;
    } else {
      line.words.emplace_back(std::move(word));
    }
  }
  for (const std::string& option : options) {
    std::vector<WordPattern> words;
    for (std::string& word : split(option)) words.emplace_back(std::move(word));
    if (words.empty()) throw std::invalid_argument("an option without a word");
    line.options.push_back(std::move(words));
  }
  return line;
}

bool AnswerPattern::matches(const redis::Reply& answer) const {
  using Type = redis::Reply::Type;
  if (answer.is_error()) return text_ == "error";
  if (answer.is_nil()) return text_ == "nil";
  if (answer.type == Type::array) {
    if (text_ == "list") return true;
    return text_.size() > 2 && text_.front() == '[' && text_.back() == ']' && !answer.items.empty() &&
           text_of(answer.items.front()) == text_.substr(1, text_.size() - 2);
  }
  if (text_ == "number") return answer.type == Type::integer;
  if (text_ == "text") return answer.type != Type::integer;
  if (text_ == "> 0") return answer.type == Type::integer && answer.integer > 0;
  return text_of(answer) == text_;
}

std::optional<Filled> LockPattern::match(const WatchedCommand& sent) const {
  if (command) return sent.calls_script ? std::nullopt : command->match(sent.words);
  const auto has = [&](const std::string& part) {
    return sent.script.find(squeezed(part)) != std::string_view::npos;
  };
  if (!sent.calls_script || sent.script.empty() || !std::ranges::all_of(script, has) ||
      std::ranges::any_of(not_script, has)) {
    return std::nullopt;
  }
  std::optional<Filled> filled = keys.match(sent.keys);
  const std::optional<Filled> of_args = args.match(sent.args);
  if (!filled || !of_args) return std::nullopt;
  for (const auto& [hole, value] : *of_args) {
    if (filled->try_emplace(hole, value).first->second != value) return std::nullopt;
  }
  return filled;
}

namespace {
bool any_matches(const std::vector<AnswerPattern>& answers, const redis::Reply& answer) {
  return std::ranges::any_of(answers, [&](const AnswerPattern& one) { return one.matches(answer); });
}
}  // namespace

bool LockPattern::says_done(const redis::Reply& answer) const { return any_matches(done, answer); }

bool LockPattern::says_refused(const redis::Reply& answer) const { return any_matches(refused, answer); }

std::string squeezed(std::string_view script) {
  std::string text;
  text.reserve(script.size());
  for (const char c : script) {
    if (!std::isspace(static_cast<unsigned char>(c))) text.push_back(c == '\'' ? '"' : lower(c));
  }
  return text;
}

}  // namespace holdfast::sim
