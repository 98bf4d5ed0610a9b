// RESP2 and RESP3 on the server's side: requests out of bytes, replies into bytes, and the numbers of Redis.
//
// A parsed request refers into the input; nothing is copied or allocated per argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim::embedded {

using Args = std::span<const std::string_view>;

// One request at a time, multibulk or inline ("SET k v\r\n", quotes as redis-cli reads them).
class RequestParser {
 public:
  enum class Status { complete, incomplete, error };

  // Reads the request that begins at in[pos]. complete: `args` holds it (empty for a blank line) until the
  // input changes or the next call, and `pos` stands behind it. error: error_text() is what Redis answers
  // before it closes.
  Status parse(std::string_view in, std::size_t& pos, std::vector<std::string_view>& args);
  const std::string& error_text() const { return error_; }
  void input_moved() { need_ = 0; }  // the caller dropped bytes in front of `pos`

 private:
  Status parse_multibulk(std::string_view in, std::size_t& pos, std::vector<std::string_view>& args);
  Status parse_inline(std::string_view in, std::size_t& pos, std::vector<std::string_view>& args);
  Status fail(std::string text);

  std::size_t need_ = 0;  // the request at hand cannot be complete before the input is that long
  std::string error_;
  std::vector<std::string> unquoted_;
};

// Replies, appended to `bytes`. A kind that RESP2 does not know becomes what Redis sends a client of RESP2.
class Out {
 public:
  std::string bytes;
  int protocol = 2;  // 3 after HELLO 3

  void raw(std::string_view text) { bytes.append(text); }
  void ok() { raw("+OK\r\n"); }
  void status(std::string_view text);
  // `text` begins with the error code ("ERR no such key"); line breaks become spaces.
  void error(std::string_view text);
  void integer(std::int64_t value);
  void bulk(std::string_view text);
  void bulk_integer(std::int64_t value);
  void real(double value);   // 17 significant digits; RESP2: a bulk string
  void boolean(bool value);  // RESP2: 1 or 0
  void big_number(std::string_view digits);
  void verbatim(std::string_view text, std::string_view format = "txt");  // three letters; RESP2: the text
  void nil() { raw(protocol == 2 ? "$-1\r\n" : "_\r\n"); }
  void nil_array() { raw(protocol == 2 ? "*-1\r\n" : "_\r\n"); }
  void array(std::size_t count);
  void set(std::size_t count);   // RESP2: an array
  void map(std::size_t pairs);   // RESP2: an array of twice that
  void push(std::size_t count);  // RESP2: an array

 private:
  void header(char mark, std::int64_t value);
};

// --- numbers as Redis reads and writes them -------------------------------------------------------------
bool parse_integer(std::string_view text,
                   std::int64_t& value);                // strict: no sign +, no leading zero or space
bool parse_real(std::string_view text, double& value);  // what strtod takes, but no nan and no space
bool parse_long_real(std::string_view text, long double& value);
std::string format_real(double value);            // "%.17g", inf, -inf
std::string format_long_real(long double value);  // as INCRBYFLOAT does: 17 decimals, trailing zeros cut
void append_integer(std::string& to, std::int64_t value);
void append_header(std::string& to, char mark, std::int64_t value);  // "<mark><value>\r\n"

std::string lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);

// A request in RESP, appended to `to`: what goes into replication streams and append-only files.
void append_request(std::string& to, Args args);

}  // namespace holdfast::sim::embedded
