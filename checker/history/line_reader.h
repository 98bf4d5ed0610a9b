// LineReader: cuts a stream into lines. Reads in blocks, so that a file is never in memory as a whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/history/format_error.h"
#include "checker/planted.h"

namespace holdfast::checker {

// What stands behind a line.
enum class LineEnd : std::uint8_t { newline, missing };  // missing: the last line of a file without one

class LineReader {
 public:
  LineReader(std::istream& in, std::string file)
      : in_(in), file_(std::move(file)), buffer_(std::size_t{1} << 18) {}

  // The next line, without "\n" or "\r\n"; valid until the next call. False: the stream is over. Throws
  // FormatError for a line of more than 64 MiB: what has no lines is no file of events.
  bool next(std::string_view& line) {
    std::size_t searched = 0;
    for (;;) {
      const char* const from = buffer_.data() + begin_;
      const void* const found =
          end_ == begin_ + searched ? nullptr : std::memchr(from + searched, '\n', end_ - begin_ - searched);
      if (found != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
        line = without_return({from, length});
        begin_ += length + 1;
        ++number_;
        return true;
      }
      searched = end_ - begin_;
      if (!fill()) {
        if (searched == 0 || HOLDFAST_PLANTED(last_line_dropped)) return false;
        line = without_return({buffer_.data() + begin_, searched});
        begin_ = end_;
        ++number_;
        ended_ = LineEnd::missing;
        return true;
      }
    }
  }
  std::uint64_t number() const { return number_; }  // of the last line returned, from 1
  LineEnd ended() const { return ended_; }          // the same line

 private:
  static constexpr std::size_t kMostLine = std::size_t{1} << 26;  // a power of two
  static std::string_view without_return(std::string_view line) {
    if (!HOLDFAST_PLANTED(carriage_return_kept) && !line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    return line;
  }
  bool fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ >= kMostLine) {
      throw FormatError(file_, number_ + 1, 1, "a line of more than 64 MiB, expected an event");
    }
    if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);  // a very long line
    if (!in_) return false;
    // Less than there is room for is not the end: of a file that grows, or a pipe, more follows.
    const std::streamsize got =
        in_.rdbuf()->sgetn(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
    end_ += static_cast<std::size_t>(std::max<std::streamsize>(got, 0));
    return got > 0;
  }

  std::istream& in_;
  std::string file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t number_ = 0;
  LineEnd ended_ = LineEnd::newline;
};

}  // namespace holdfast::checker
