#include "sim/proxy/resp_parse.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace holdfast::sim {
namespace {

constexpr int kDeepest = 32;

// The line that begins at `at`, without its end; `at` moves behind it. False: no whole line.
bool take_line(std::string_view bytes, std::size_t& at, std::string_view& line) {
  const std::size_t end = bytes.find('\n', at);
  if (end == std::string_view::npos) return false;
  line = bytes.substr(at, end - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at = end + 1;
  return true;
}

bool take_number(std::string_view line, std::int64_t& number) {
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  return error == std::errc{} && rest == line.data() + line.size();
}

// A line of `mark` and a number. Most lines are: they are read digit by digit.
bool take_count(std::string_view bytes, std::size_t& at, char mark, std::int64_t& number) {
  if (at >= bytes.size() || bytes[at] != mark) return false;
  constexpr std::size_t kMostDigits = 9;
  std::size_t i = at + 1;
  std::int64_t value = 0;
  for (; i < bytes.size() && i - at <= kMostDigits && bytes[i] >= '0' && bytes[i] <= '9'; ++i)
    value = value * 10 + (bytes[i] - '0');
  if (i > at + 1 && i + 1 < bytes.size() && bytes[i] == '\r' && bytes[i + 1] == '\n') {
    number = value;
    at = i + 2;
    return true;
  }
  std::string_view line;
  return take_line(bytes, at, line) && take_number(line.substr(1), number);
}

bool take_bulk(std::string_view bytes, std::size_t& at, std::int64_t length, std::string_view& text) {
  const auto size = static_cast<std::size_t>(length);
  if (bytes.size() - at < size + 2) return false;
  text = bytes.substr(at, size);
  at += size + 2;
  return true;
}

bool take_reply(std::string_view bytes, std::size_t& at, redis::Reply& reply, int depth) {
  using Type = redis::Reply::Type;
  std::string_view line;
  if (depth > kDeepest || !take_line(bytes, at, line) || line.empty()) return false;
  const char type = line.front();
  line.remove_prefix(1);
  reply = {};
  std::int64_t number = 0;
  switch (type) {
    case '+':
      reply.type = Type::status;
      reply.text = line;
      return true;
    case '-':
      reply.type = Type::error;
      reply.text = line;
      return true;
    case ':': reply.type = Type::integer; return take_number(line, reply.integer);
    case '$': {
      if (!take_number(line, number)) return false;
      if (number < 0) return true;
      std::string_view text;
      if (!take_bulk(bytes, at, number, text)) return false;
      reply.type = Type::bulk;
      reply.text = text;
      return true;
    }
    case '*':
      if (!take_number(line, number)) return false;
      if (number < 0) return true;
      reply.type = Type::array;
      for (std::int64_t i = 0; i < number; ++i) {
        if (!take_reply(bytes, at, reply.items.emplace_back(), depth + 1)) return false;
      }
      return true;
    default: return false;
  }
}

void append_bulk(std::string& out, std::string_view text) {
  out += '$';
  out += std::to_string(text.size());
  out += "\r\n";
  out += text;
  out += "\r\n";
}

}  // namespace

std::size_t parse_request(std::string_view bytes, std::vector<std::string_view>& arguments) {
  arguments.clear();
  std::size_t at = 0;
  if (!bytes.starts_with('*')) {
    std::string_view line;
    if (!take_line(bytes, at, line)) return 0;
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t begin = line.find_first_not_of(" \t", i);
      if (begin == std::string_view::npos) break;
      i = std::min(line.find_first_of(" \t", begin), line.size());
      arguments.push_back(line.substr(begin, i - begin));
    }
    return at;
  }
  std::int64_t count = 0;
  if (!take_count(bytes, at, '*', count)) return 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t length = 0;
    std::string_view text;
    if (!take_count(bytes, at, '$', length) || length < 0 || !take_bulk(bytes, at, length, text)) return 0;
    arguments.push_back(text);
  }
  return at;
}

std::size_t parse_reply(std::string_view bytes, redis::Reply& reply) {
  std::size_t at = 0;
  while (at < bytes.size() && bytes[at] == '\n')
    ++at;  // the heartbeat of a master that is preparing a snapshot
  return take_reply(bytes, at, reply, 0) ? at : 0;
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

void append_request(std::string& out, const std::vector<std::string_view>& arguments) {
  out += '*';
  out += std::to_string(arguments.size());
  out += "\r\n";
  for (const std::string_view argument : arguments) append_bulk(out, argument);
}

}  // namespace holdfast::sim
