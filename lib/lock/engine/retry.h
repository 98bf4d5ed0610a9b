// Retry: the one policy by which a request that failed is sent again: which errors are worth it
// (redis::Error::worth_another_attempt()) and how long to pause. For how long, the caller knows: an acquire
// until its deadline, a release, latch or query for the client's command timeout, a renewal and what is given
// back in the background until the lease is over.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "lib/redis/client.h"
#include "lib/redis/error.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class Retry {
 public:
  // What a server that answers "not now" is asked again after at the most: it may be able to any moment.
  static constexpr Duration kLongestPause = std::chrono::milliseconds(50);

  Retry(Runtime& runtime, const redis::ClientOptions& options) : runtime_(runtime), options_(options) {}

  // How long to wait before the next attempt. Without a connection, or an answer, the client has waited
  // already before it says so. REQUIRES: error.worth_another_attempt()
  Duration pause_after(const redis::Error& error);
  // An answer has come: the next failure is the first one again.
  void answered() noexcept { refusals_ = 0; }

 private:
  Runtime& runtime_;
  const redis::ClientOptions& options_;
  std::size_t refusals_ = 0;  // "not now", in a row
};

// [parks] Makes a request that may be repeated without harm, again and again until it is answered or the
// client's command timeout is over, or `until` has come. Then, or when the server refuses, throws
// Unavailable, Rejected or Unsupported for `key`. `unseen`: an earlier try may have been executed.
redis::Answer insist(Runtime& runtime, const redis::ClientOptions& options, const std::string& key,
                     MonotonicTime until, bool& unseen,
                     const std::function<redis::Answer(const redis::CallOptions&)>& request);

}  // namespace holdfast
