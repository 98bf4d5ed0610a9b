// LoopClient: a loop, and a client on it, from a URL; what an asynchronous application needs beside a lock.
//
//   holdfast::async::LoopClient redis("redis://localhost:6379");
//   const auto locks = redis.locks<holdfast::ReentrantLocks>(holdfast::LockOptions{.lease = 10s});
//   holdfast::async::Hold hold = co_await locks.obtain("stock:42").async_lock();
//
// Locks keep the client, and the client the loop's tasks: whatever goes first, the last one tidies up.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "lib/async/lock.h"
#include "lib/async/loop.h"
#include "lib/redis/client.h"
#include "lib/redis/url.h"

namespace holdfast::async {

class LoopClient {
 public:
  // Does not connect yet: the first acquire does. Throws BadUrl; std::system_error as Loop.
  explicit LoopClient(std::string_view url, LoopOptions options = {})
      : LoopClient(redis::options_from_url(url), options) {}
  // Options that a URL does not have: begin with options_from_url() or options_from_urls().
  explicit LoopClient(redis::ClientOptions client, LoopOptions options = {})
      : loop_(options),
        client_(loop_.make<redis::Client>(loop_.runtime(), loop_.network(), std::move(client))) {}

  Loop& loop() noexcept { return loop_; }  // on which all runs
  // For tasks of the loop alone: redis.loop().call([&] { redis.client().call({"PING"}); })
  redis::Client& client() noexcept { return *client_; }

  // Locks of one kind (ReentrantLocks, FencedLocks, ...), made of the client and `options`.
  template <class Kind, class... Options>
  [[nodiscard]] AsyncLocks locks(Options&&... options) {
    return {loop_.host(), loop_.call([&]() -> std::shared_ptr<Kind> {
              auto* const kind = new Kind(*client_, std::forward<Options>(options)...);
              return {kind, [host = loop_.host(), client = client_](Kind* thing) mutable {
                        host->call([&] {
                          delete thing;
                          client = nullptr;
                        });
                      }};
            })};
  }

 private:
  Loop loop_;
  std::shared_ptr<redis::Client> client_;
};

}  // namespace holdfast::async
