// EdnScanner: characters and tokens of EDN, with line and column for errors. Reads a stream in blocks, or a
// text that is in memory.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::checker {

struct EdnProblem {
  std::uint64_t line = 0, column = 0;
  std::string problem;
  bool hopeless = false;  // this is no file of EDN; to go on is no use
};

class EdnScanner {
 public:
  explicit EdnScanner(std::istream& in) : in_(&in), buffer_(std::size_t{1} << 18), data_(buffer_.data()) {}
  // Begins at that column of the line. `text` must outlive the scanner.
  EdnScanner(std::string_view text, std::uint64_t line, std::uint64_t column)
      : data_(text.data()), end_(text.size()), passed_(column - 1), line_(line) {}
  EdnScanner(const EdnScanner&) = delete;
  EdnScanner& operator=(const EdnScanner&) = delete;

  static constexpr int kEnd = -1;
  int peek() {
    if (at_ == end_ && !fill()) return kEnd;
    return static_cast<unsigned char>(data_[at_]);
  }
  int get() {
    const int c = peek();
    if (c == kEnd) return c;
    ++at_;
    if (c == '\n') {
      ++line_;
      line_begin_ = passed_ + at_;
    }
    return c;
  }
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return passed_ + at_ - line_begin_ + 1; }

  // Skips white space, commas and `;` comments.
  void skip_space();
  // A keyword, symbol or number, up to the next delimiter. Overwrites `scratch`.
  std::string_view token(std::string& scratch);
  // The text of a string; REQUIRES: its opening quote is next.
  void string(std::string& text);
  // Skips `#_` and the value behind it. False: there is none.
  bool skip_discarded();
  // Skips one value of any kind. Throws EdnProblem beyond 100 levels.
  void skip_value(int depth = 0);
  // Throw EdnProblem: what was found, and what was expected.
  [[noreturn]] void fail(std::string_view expected);
  [[noreturn]] void fail_found(std::string_view found, std::uint64_t column, std::string_view expected) const;
  // Skips to the next line, after an error.
  void skip_line();

  static bool delimiter(int c);

 private:
  static constexpr std::size_t kMostText = std::size_t{1} << 26;  // of a word or a string
  bool fill();
  int peek_second();
  void require_short(const std::string& text, std::uint64_t line, std::uint64_t column) const;

  std::istream* in_ = nullptr;  // null: there is no more than the text
  std::vector<char> buffer_;
  const char* data_ = nullptr;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t passed_ = 0;  // bytes before the buffer
  std::uint64_t line_ = 1, line_begin_ = 0;
  std::string scratch_;
};

}  // namespace holdfast::checker
