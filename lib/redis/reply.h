// A RESP2 reply as a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::redis {

struct Reply {
  // What RESP2 knows.
  enum class Type { nil, integer, status, error, bulk, array };

  Type type = Type::nil;     // says which of the members below counts
  std::int64_t integer = 0;  // integer
  std::string text;          // status, error (with its code: "READONLY You can't ..."), bulk
  std::vector<Reply> items;  // array

  // There is no such thing.
  bool is_nil() const { return type == Type::nil; }
  // The server refused.
  bool is_error() const { return type == Type::error; }
  // `text` is the answer.
  bool is_string() const { return type == Type::bulk || type == Type::status; }
  // The first word of an error ("READONLY"), else empty.
  std::string error_code() const;
  friend bool operator==(const Reply&, const Reply&) = default;
};

}  // namespace holdfast::redis
