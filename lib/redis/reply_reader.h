// From bytes to replies: hiredis' incremental reader, building our Reply values.
//
// Memory is bounded by what really arrived (an array grows as its items come, whatever length it announced)
// and by a greatest size, number of items and depth of one reply. One reader serves one connection; not
// thread-safe.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "lib/redis/reply.h"

struct redisReader;

namespace holdfast::redis {

class ReplyReader {
 public:
  enum class Next { reply, incomplete, broken };

  static constexpr std::size_t kMostItems = 65536, kDeepest = 7;  // of one reply
  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

  // `max_reply`: in bytes. `max_items`: kUnbounded for who reads what this process itself has written.
  explicit ReplyReader(std::size_t max_reply = kUnbounded, std::size_t max_items = kMostItems);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);

  // `reply`: `into` holds the next one. `broken`: what came is not RESP, or too much; from then on for ever.
  Next next(Reply& into);

  const std::string& error() const noexcept { return error_; }  // why it is broken
  bool too_large() const noexcept { return too_large_; }        // broken, though it is RESP

 private:
  friend struct ReplyBuilder;

  redisReader* reader_;
  const std::size_t max_reply_, max_items_;
  Reply root_;             // the reply that is being built
  std::size_t bytes_ = 0;  // that have come since the last reply was complete
  std::size_t items_ = 0;  // of root_
  bool too_large_ = false, resp3_ = false;
  std::string error_;
};

}  // namespace holdfast::redis
