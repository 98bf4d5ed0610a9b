// A line ends with `}`, which is part of no token. So the place never leaves the line while tokens are taken,
// and only texts look for the end.
#include "checker/history/plain_line.h"

#include <bit>
#include <cstring>

#include "checker/history/history_jsonl.h"
#include "checker/history/short_word.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

// How many of eight bytes, in the order of memory, come before a quotation mark or a backslash; 8: all.
// Taking 1 from each byte borrows from those above a zero only: the lowest byte that is marked is the first.
std::size_t bytes_before_quote(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U, kHigh = 0x8080808080808080U;
  const std::uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
  const std::uint64_t zeros = ((quote - kOnes) & ~quote & kHigh) | ((backslash - kOnes) & ~backslash & kHigh);
  return zeros == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(zeros)) / 8;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Each function takes a token at `at` and moves `at` behind it. False: it is of another form.

bool take_text(const char*& at, const char* end, std::string_view& text) {
  if (*at != '"') return false;
  const char* const begin = ++at;
  if (std::endian::native == std::endian::little && end - at >= 8) {  // most texts are shorter
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    at += bytes_before_quote(word);
  }
  while (at != end && *at != '"' && *at != '\\') ++at;
  if (at == end || *at == '\\') return false;
  text = {begin, static_cast<std::size_t>(at - begin)};
  ++at;
  return true;
}

bool take_number(const char*& at, std::int64_t& number) {
  const char* const begin = at;
  number = 0;
  for (; is_digit(*at); ++at) {
    if (at - begin == 18) return false;  // beyond, numbers may be too great for 60 bits
    number = number * 10 + (*at - '0');
  }
  return at != begin;
}

bool take_symbol(const char*& at, const char* end, History& history, Symbol& symbol) {
  std::string_view text;
  if (*at == '"') {
    if (!take_text(at, end, text)) return false;
  } else {
    const char* const begin = at;
    while (is_digit(*at)) ++at;
    text = {begin, static_cast<std::size_t>(at - begin)};
    if (text.empty() || (text.front() == '0' && text.size() > 1)) return false;
  }
  symbol = history.intern(text);
  return true;
}

bool take_null(const char*& at, const char* end) {
  if (end - at < 4 || std::memcmp(at, "null", 4) != 0) return false;
  at += 4;
  return true;
}

bool take_value(const char*& at, const char* end, History& history, Value& value) {
  if (*at == '"') {
    std::string_view text;
    if (!take_text(at, end, text)) return false;
    value = history.text_value(text);
    return true;
  }
  if (*at == 'n') {
    value = {};
    return take_null(at, end);
  }
  std::int64_t number = 0;
  if (!take_number(at, number)) return false;
  value = Value(number);
  return true;
}

// What stands behind a name that is not known.
bool skip(const char*& at, const char* end) {
  std::string_view text;
  std::int64_t number = 0;
  return *at == '"' ? take_text(at, end, text) : *at == 'n' ? take_null(at, end) : take_number(at, number);
}

bool take_field(const char*& at, const char* end, std::string_view name, History& history, PlainLine& out) {
  Event& event = out.event;
  std::string_view text;
  switch (short_word(name)) {
    case short_word("index"): return take_number(at, out.index);
    case short_word("time"): return out.has_time = take_number(at, event.time_ns);
    case short_word("type"): return take_text(at, end, text) && parse(text, event.type);
    case short_word("f"): return take_text(at, end, text) && parse(text, event.f);
    case short_word("process"): return take_symbol(at, end, history, event.process) && event.process != 0;
    case short_word("key"): return take_symbol(at, end, history, event.key);
    case short_word("id"): return take_symbol(at, end, history, event.id);
    case short_word("owner"): return take_symbol(at, end, history, event.owner);
    case short_word("mode"): return take_symbol(at, end, history, event.mode);
    case short_word("node"): return take_symbol(at, end, history, event.node);
    case short_word("error"): return take_symbol(at, end, history, event.error);
    case short_word("value"): return take_value(at, end, history, event.value);
    case short_word("token"): return take_value(at, end, history, event.token);
    case short_word("permits"): return false;
    default: break;
  }
  if (name == "valid_until") {
    if (HOLDFAST_PLANTED(valid_until_in_milliseconds)) return false;
    return take_number(at, event.valid_until_ns);
  }
  return name != kHeaderMember && skip(at, end);
}

}  // namespace

bool read_plain_line(std::string_view line, History& history, PlainLine& out) {
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return false;
  const char* at = line.data();
  const char* const end = at + line.size();
  bool has_type = false;
  do {
    ++at;  // `{` or `,`
    if (*at == ' ') ++at;
    std::string_view name;
    if (!take_text(at, end, name) || *at != ':') return false;
    ++at;
    if (*at == ' ') ++at;
    if (!take_field(at, end, name, history, out)) return false;
    has_type = has_type || short_word(name) == short_word("type");
  } while (*at == ',');
  // Function::other is none that parse() finds, so it says that there was no `f`.
  if (at + 1 != end || !has_type || out.event.f == Function::other || out.event.process == 0) return false;
  normalise_token(out.event, history);
  return true;
}

}  // namespace holdfast::checker
