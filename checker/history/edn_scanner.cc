#include "checker/history/edn_scanner.h"

namespace holdfast::checker {

bool EdnScanner::fill() {
  if (in_ == nullptr) return false;
  passed_ += end_;
  at_ = end_ = 0;
  if (!*in_) return false;
  in_->read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  end_ = static_cast<std::size_t>(in_->gcount());
  return end_ > 0;
}

bool EdnScanner::delimiter(int c) {
  switch (c) {
    case kEnd:
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ',':
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
    case '"':
    case ';': return true;
    default: return false;
  }
}

void EdnScanner::skip_space() {
  for (;;) {
    const int c = peek();
    if (c == ' ' || c == '\n' || c == ',' || c == '\t' || c == '\r') {
      get();
    } else if (c == ';') {
      skip_line();
    } else {
      return;
    }
  }
}

void EdnScanner::skip_line() {
  for (int c = peek(); c != kEnd; c = peek()) {
    get();
    if (c == '\n') return;
  }
}

std::string_view EdnScanner::token(std::string& scratch) {
  scratch.clear();
  // The common case: the block has the whole token.
  std::size_t end = at_;
  while (end < end_ && !delimiter(static_cast<unsigned char>(data_[end]))) ++end;
  if (end < end_) {
    const std::string_view whole(data_ + at_, end - at_);
    at_ = end;
    return whole;
  }
  const std::uint64_t column = this->column();
  while (!delimiter(peek())) {
    scratch += static_cast<char>(get());
    require_short(scratch, line_, column);
  }
  return scratch;
}

void EdnScanner::require_short(const std::string& text, std::uint64_t line, std::uint64_t column) const {
  if (text.size() <= kMostText) return;
  throw EdnProblem{line, column, "a word or a string of more than 64 MiB, expected events", true};
}

void EdnScanner::string(std::string& text) {
  text.clear();
  const std::uint64_t line = line_, column = this->column();
  get();
  for (;;) {
    const int c = get();
    if (c == kEnd) fail("the closing `\"`");
    if (c == '"') return;
    if (c != '\\') {
      text += static_cast<char>(c);
      require_short(text, line, column);
      continue;
    }
    const int escaped = get();
    switch (escaped) {
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case 'r': text += '\r'; break;
      case kEnd: fail("an escaped character");
      default: text += static_cast<char>(escaped); break;
    }
  }
}

int EdnScanner::peek_second() {
  if (at_ + 1 < end_) return static_cast<unsigned char>(data_[at_ + 1]);
  if (in_ == nullptr || peek() == kEnd) return kEnd;
  return in_->peek();
}

bool EdnScanner::skip_discarded() {
  if (peek() != '#' || peek_second() != '_') return false;
  get();
  get();
  skip_value();
  return true;
}

void EdnScanner::skip_value(int depth) {
  if (depth > 100) fail("less depth");
  skip_space();
  const int c = peek();
  if (c == '"') return string(scratch_);
  if (c == '\\') {  // a character, which may be a delimiter
    get();
    get();
    token(scratch_);
    return;
  }
  if (c == '#') {
    get();
    if (peek() == '_') {
      get();
      skip_value(depth + 1);  // the discarded value
      return skip_value(depth + 1);
    }
    if (peek() != '{' && peek() != '"') token(scratch_);  // a tag; `#{` is a set, `#"` a pattern
    return skip_value(depth + 1);
  }
  if (c == '{' || c == '[' || c == '(') {
    get();
    const int close = c == '{' ? '}' : c == '[' ? ']' : ')';
    for (skip_space(); peek() != close; skip_space()) {
      if (peek() == kEnd || peek() == ')' || peek() == ']' || peek() == '}') {
        fail(c == '{' ? "`}`" : c == '[' ? "`]`" : "`)`");
      }
      skip_value(depth + 1);
    }
    get();
    return;
  }
  if (delimiter(c)) fail("a value");
  token(scratch_);
}

void EdnScanner::fail_found(std::string_view found, std::uint64_t column, std::string_view expected) const {
  throw EdnProblem{line_, column,
                   "found `" + std::string(found.substr(0, 40)) + "`, expected " + std::string(expected)};
}

void EdnScanner::fail(std::string_view expected) {
  const std::uint64_t line = line_, at = column();
  std::string found;
  if (peek() == kEnd) {
    found = "the file ends here";
  } else {
    found = "found `";
    if (delimiter(peek())) {
      const int c = get();
      found += c < 0x20 ? '?' : static_cast<char>(c);
    } else {
      found += std::string(token(scratch_)).substr(0, 40);
    }
    found += "`";
  }
  throw EdnProblem{line, at, found + ", expected " + std::string(expected)};
}

}  // namespace holdfast::checker
