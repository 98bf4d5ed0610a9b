#include "sim/redis/resp.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace holdfast::sim::embedded {
namespace {

constexpr std::size_t kInlineLimit = 64 * 1024;
constexpr std::int64_t kBulkLimit = 512LL * 1024 * 1024;

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower_char(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Splits a line into words, quotes resolved. False: quotes are unbalanced.
bool split_words(std::string_view line, std::vector<std::string>& words) {
  std::size_t i = 0;
  while (true) {
    while (i < line.size() && is_space(line[i])) ++i;
    if (i >= line.size()) return true;
    std::string word;
    char quote = 0;
    bool done = false;
    while (!done) {
      if (i >= line.size()) {
        if (quote != 0) return false;
        break;
      }
      const char c = line[i];
      if (quote == '"') {
        if (c == '\\' && i + 3 < line.size() && line[i + 1] == 'x' && hex_digit(line[i + 2]) >= 0 &&
            hex_digit(line[i + 3]) >= 0) {
          word += static_cast<char>(hex_digit(line[i + 2]) * 16 + hex_digit(line[i + 3]));
          i += 3;
        } else if (c == '\\' && i + 1 < line.size()) {
          const char e = line[++i];
          switch (e) {
            case 'n': word += '\n'; break;
            case 'r': word += '\r'; break;
            case 't': word += '\t'; break;
            case 'b': word += '\b'; break;
            case 'a': word += '\a'; break;
            default: word += e; break;
          }
        } else if (c == '"') {
          if (i + 1 < line.size() && !is_space(line[i + 1])) return false;
          done = true;
        } else {
          word += c;
        }
      } else if (quote == '\'') {
        if (c == '\\' && i + 1 < line.size() && line[i + 1] == '\'') {
          word += '\'';
          ++i;
        } else if (c == '\'') {
          if (i + 1 < line.size() && !is_space(line[i + 1])) return false;
          done = true;
        } else {
          word += c;
        }
      } else if (is_space(c)) {
        break;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else {
        word += c;
      }
      ++i;
    }
    words.push_back(std::move(word));
  }
}

}  // namespace

RequestParser::Status RequestParser::fail(std::string text) {
  error_ = "ERR Protocol error: " + std::move(text);
  return Status::error;
}

RequestParser::Status RequestParser::parse(std::string_view in, std::size_t& pos,
                                           std::vector<std::string_view>& args) {
  args.clear();
  if (pos >= in.size() || in.size() < need_) return Status::incomplete;
  need_ = 0;
  return in[pos] == '*' ? parse_multibulk(in, pos, args) : parse_inline(in, pos, args);
}

RequestParser::Status RequestParser::parse_multibulk(std::string_view in, std::size_t& pos,
                                                     std::vector<std::string_view>& args) {
  // A header line "<mark><number>\r\n" at `at`.
  const auto number_at = [&](std::size_t& at, std::int64_t& value, bool& well_formed) {
    std::int64_t number = 0;
    std::size_t i = at + 1;
    const std::size_t limit = std::min(in.size(), at + 10);
    for (; i < limit && in[i] >= '0' && in[i] <= '9'; ++i) number = number * 10 + (in[i] - '0');
    if (i > at + 1 && i + 1 < in.size() && in[i] == '\r' && (in[at + 1] != '0' || i == at + 2)) {
      value = number;
      well_formed = true;
      at = i + 2;
      return true;
    }
    const std::size_t end = in.find('\r', at);
    if (end == std::string_view::npos || end + 1 >= in.size()) return false;
    well_formed = parse_integer(in.substr(at + 1, end - at - 1), value);
    at = end + 2;
    return true;
  };
  std::size_t at = pos;
  std::int64_t count = 0;
  bool well_formed = false;
  if (!number_at(at, count, well_formed)) {
    return in.size() - pos > kInlineLimit ? fail("too big mbulk count string") : Status::incomplete;
  }
  if (!well_formed || count > INT32_MAX) return fail("invalid multibulk length");
  for (std::int64_t i = 0; i < count; ++i) {
    if (at >= in.size()) return Status::incomplete;
    if (in[at] != '$') {
      const bool header_whole = in.find('\r', at) != std::string_view::npos;
      if (!header_whole)
        return in.size() - at > kInlineLimit ? fail("too big bulk count string") : Status::incomplete;
      return fail(std::string("expected '$', got '") + in[at] + "'");
    }
    std::int64_t length = 0;
    const std::size_t header = at;
    if (!number_at(at, length, well_formed)) {
      return in.size() - header > kInlineLimit ? fail("too big bulk count string") : Status::incomplete;
    }
    if (!well_formed || length < 0 || length > kBulkLimit) return fail("invalid bulk length");
    const auto size = static_cast<std::size_t>(length);
    if (in.size() < at + size + 2) {
      need_ = at + size + 2;
      return Status::incomplete;
    }
    args.push_back(in.substr(at, size));
    at += size + 2;
  }
  pos = at;
  return Status::complete;
}

RequestParser::Status RequestParser::parse_inline(std::string_view in, std::size_t& pos,
                                                  std::vector<std::string_view>& args) {
  const std::size_t end = in.find('\n', pos);
  if (end == std::string_view::npos) {
    return in.size() - pos > kInlineLimit ? fail("too big inline request") : Status::incomplete;
  }
  std::string_view line = in.substr(pos, end - pos);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  unquoted_.clear();
  if (!split_words(line, unquoted_)) return fail("unbalanced quotes in request");
  for (const std::string& word : unquoted_) args.push_back(word);
  pos = end + 1;
  return Status::complete;
}

// --- replies ----------------------------------------------------------------------------------------------

void append_integer(std::string& to, std::int64_t value) {
  char text[24];
  const auto result = std::to_chars(text, text + sizeof text, value);
  to.append(text, static_cast<std::size_t>(result.ptr - text));
}

void append_header(std::string& to, char mark, std::int64_t value) {
  char text[28];
  text[0] = mark;
  char* end = text + 1;
  if (value >= 0 && value < 10) {
    *end++ = static_cast<char>('0' + value);
  } else {
    end = std::to_chars(end, text + 24, value).ptr;
  }
  *end++ = '\r';
  *end++ = '\n';
  to.append(text, static_cast<std::size_t>(end - text));
}

void Out::header(char mark, std::int64_t value) { append_header(bytes, mark, value); }

void Out::status(std::string_view text) {
  bytes += '+';
  bytes += text;
  bytes += "\r\n";
}

void Out::error(std::string_view text) {
  bytes += '-';
  const std::size_t start = bytes.size();
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  bytes += text;
  std::replace_if(
      bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  bytes += "\r\n";
}

void Out::integer(std::int64_t value) { header(':', value); }
void Out::array(std::size_t count) { header('*', static_cast<std::int64_t>(count)); }

void Out::bulk(std::string_view text) {
  header('$', static_cast<std::int64_t>(text.size()));
  bytes += text;
  bytes += "\r\n";
}

void Out::bulk_integer(std::int64_t value) {
  char text[24];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  bulk({text, static_cast<std::size_t>(end - text)});
}

void Out::real(double value) {
  if (protocol == 2) return bulk(format_real(value));
  bytes += ',';
  bytes += format_real(value);
  bytes += "\r\n";
}

void Out::boolean(bool value) {
  if (protocol == 2) return integer(value ? 1 : 0);
  raw(value ? "#t\r\n" : "#f\r\n");
}

void Out::big_number(std::string_view digits) {
  if (protocol == 2) return bulk(digits);
  bytes += '(';
  bytes += digits;
  bytes += "\r\n";
}

void Out::verbatim(std::string_view text, std::string_view format) {
  if (protocol == 2) return bulk(text);
  header('=', static_cast<std::int64_t>(text.size() + 4));
  for (std::size_t i = 0; i < 3; ++i) bytes += i < format.size() ? format[i] : ' ';
  bytes += ':';
  bytes += text;
  bytes += "\r\n";
}

void Out::set(std::size_t count) { header(protocol == 2 ? '*' : '~', static_cast<std::int64_t>(count)); }
void Out::push(std::size_t count) { header(protocol == 2 ? '*' : '>', static_cast<std::int64_t>(count)); }
void Out::map(std::size_t pairs) {
  protocol == 2 ? array(2 * pairs) : header('%', static_cast<std::int64_t>(pairs));
}

// --- numbers -------------------------------------------------------------------------------------------

bool parse_integer(std::string_view text, std::int64_t& value) {
  if (text.empty() || text.size() > 20) return false;
  const std::size_t first = text[0] == '-' ? 1 : 0;
  if (text.size() > first && text.size() <= 18) {  // cannot overflow
    if (text[first] == '0' && text.size() > 1) return false;
    std::int64_t number = 0;
    for (std::size_t i = first; i < text.size(); ++i) {
      const auto digit = static_cast<unsigned char>(text[i] - '0');
      if (digit > 9) return false;
      number = number * 10 + digit;
    }
    value = first != 0 ? -number : number;
    return true;
  }
  if (text.size() > 1) {
    if (text[0] == '0' || (text[0] == '-' && text[1] == '0')) return false;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parse_real(std::string_view text, double& value) {
  if (text.empty() || is_space(text[0]) || text.find('\0') != std::string_view::npos) return false;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const double parsed = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(parsed)) return false;
  if (errno == ERANGE && (std::isinf(parsed) || parsed == 0)) return false;
  value = parsed;
  return true;
}

bool parse_long_real(std::string_view text, long double& value) {
  if (text.empty() || is_space(text[0]) || text.find('\0') != std::string_view::npos) return false;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const long double parsed = std::strtold(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(parsed)) return false;
  if (errno == ERANGE && (std::isinf(parsed) || parsed == 0)) return false;
  value = parsed;
  return true;
}

std::string format_real(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[64];
  return {text, std::to_chars(text, std::end(text), value, std::chars_format::general, 17).ptr};
}

std::string format_long_real(long double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[5 * 1024];
  const int length = std::snprintf(text, sizeof text, "%.17Lf", value);
  std::string result(text, static_cast<std::size_t>(length));
  if (result.find('.') != std::string::npos) {
    while (result.back() == '0') result.pop_back();
    if (result.back() == '.') result.pop_back();
  }
  return result == "-0" ? "0" : result;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower_char);
  return result;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower_char(x) == lower_char(y); });
}

void append_request(std::string& to, Args args) {
  append_header(to, '*', static_cast<std::int64_t>(args.size()));
  for (const std::string_view arg : args) {
    append_header(to, '$', static_cast<std::int64_t>(arg.size()));
    to.append(arg);
    to.append("\r\n", 2);
  }
}

}  // namespace holdfast::sim::embedded
