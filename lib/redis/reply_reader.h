// From bytes to replies: hiredis' incremental reader, building our Reply values.
//
// Memory is bounded by what really arrived: an array grows as its items come, whatever length it announced.
// One reader serves one connection; not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "lib/redis/reply.h"

struct redisReader;

namespace holdfast::redis {

class ReplyReader {
 public:
  enum class Next { reply, incomplete, broken };

  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);

  // `reply`: `into` holds the next one. `broken`: what came is not RESP; from then on for ever.
  Next next(Reply& into);

  const std::string& error() const noexcept { return error_; }  // why it is broken

 private:
  friend struct ReplyBuilder;

  redisReader* reader_;
  Reply root_;  // the reply that is being built
  std::string error_;
};

}  // namespace holdfast::redis
