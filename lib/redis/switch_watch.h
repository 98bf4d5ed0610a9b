// SwitchWatch: while a client seeks the primary, it hears from one Sentinel that there is a new one
// (+switch-master), and asks again at once instead of after its back-off.
//
// Source: https://redis.io/docs/latest/develop/reference/sentinel-clients/, "Sentinel failover
// disconnection", and the Pub/Sub messages of
// https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/.
//
// Thread safety: wait_until(), sentinel() and told() by one task, close() by any.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/redis/reply_reader.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

class SwitchWatch {
 public:
  // Does not connect yet. REQUIRES: there are Sentinels.
  SwitchWatch(Runtime& runtime, Network& network, std::shared_ptr<const ClientOptions> options);

  // [parks] True: it is worth asking now, sentinel() first; also when it has just begun to listen for the
  // first time, for what was told before. False: `deadline` has passed, or the task was unparked, or close()
  // was called.
  bool wait_until(MonotonicTime deadline);
  std::size_t sentinel() const noexcept { return which_; }  // the one that is heard
  // The new primary, as it was told in the wait that has just ended; nothing: it was not told.
  const std::optional<Endpoint>& told() const noexcept { return told_; }

  void close();  // a wait ends

 private:
  bool connect(MonotonicTime deadline);
  bool rest(MonotonicTime deadline);
  bool heard_switch(const Reply& message);
  std::shared_ptr<Stream> stream();
  void drop();

  Runtime& runtime_;
  Network& network_;
  const std::shared_ptr<const ClientOptions> options_;
  std::size_t which_;
  bool begun_ = false;
  std::optional<Endpoint> told_;
  std::unique_ptr<ReplyReader> reader_;  // of stream_

  Mutex mutex_;  // guards what follows
  std::shared_ptr<Stream> stream_;
  bool closed_ = false;
};

}  // namespace holdfast::redis
