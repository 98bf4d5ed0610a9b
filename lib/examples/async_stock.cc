// A service that sells from a stock: one coroutine a customer, all on one thread, and one sale at a time
// under a lock that any number of such services share.
//
//   build/examples/async_stock redis://localhost:6379 7000     # port 0 or none: a free one, which it prints
//   nc localhost 7000                                          # each line buys one
//
// A customer costs a coroutine and, while he waits for the lock, a few KiB; no thread. The lock comes with a
// fencing token, and the stock refuses tokens older than the last it has seen, from the first read on. So a
// service that is paused while it sells, or whose lock a failover gave to another one, sells nothing twice:
// its customer is asked to try again. One whose sale got no answer is told so.
//
// Ends at SIGINT or SIGTERM. Exit: 0, 1 with one line on what went wrong, 64 bad arguments.
#include <holdfast/async/asio.h>
#include <holdfast/async/loop_client.h>
#include <holdfast/reentrant_lock.h>

#include <boost/asio.hpp>
#include <charconv>
#include <iostream>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

// KEYS: stock, token, sold. ARGV: the seller's token, what it leaves.
const std::string kGuard = R"(
  if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[2]) or '0') then
    return redis.error_reply('OLD a later seller has been here')
  end
  redis.call('set', KEYS[2], ARGV[1]) )";
const std::string kRead = kGuard + "return tonumber(redis.call('get', KEYS[1]) or '0')";
const std::string kWrite = kGuard + "redis.call('set', KEYS[1], ARGV[2]) return redis.call('incr', KEYS[3])";

struct Shop {
  explicit Shop(const std::string& url) : redis(url) {}

  asio::awaitable<long long> run(std::string script, std::string token, std::string left = "") {
    co_return co_await async_call(
        redis.loop().host(),
        [this, script, token, left] {
          return redis.client()
              .call({"EVAL", script, "3", "{example}:async-stock", "{example}:token", "{example}:async-sold",
                     token, left})
              .reply.integer;
        },
        use_awaitable);
  }

  // The end of `hold` gives the lock back, in the background: what was sold stays sold if that fails.
  asio::awaitable<std::string> sell() {
    const holdfast::async::Hold hold = co_await async_lock(lock, use_awaitable);
    const std::string token = std::to_string(*hold.token());
    const long long left = co_await run(kRead, token);
    if (left > 0) {
      asio::steady_timer typing(co_await asio::this_coro::executor, 1ms);  // the number of a credit card
      co_await typing.async_wait(use_awaitable);
      co_await run(kWrite, token, std::to_string(left - 1));
    }
    co_return left > 0 ? "sold, " + std::to_string(left - 1) + " left\n" : "sold out\n";
  }

  holdfast::async::LoopClient redis;
  holdfast::async::AsyncLock lock =
      redis.locks<holdfast::FencedLocks>(holdfast::LockOptions{.lease = 10s}).obtain("{example}:async-lock");
};

asio::awaitable<void> serve(tcp::socket customer, Shop& shop) {
  for (std::string line;; line.clear()) {
    co_await asio::async_read_until(customer, asio::dynamic_buffer(line, 1024), '\n', use_awaitable);
    std::string answer = "try again\n";  // no server answers, the token is old
    try {
      answer = co_await shop.sell();
    } catch (const holdfast::redis::Error& error) {
      if (error.may_have_executed()) answer = "perhaps sold, ask first\n";  // no answer came
    } catch (const holdfast::LockError&) {
    }
    co_await asio::async_write(customer, asio::buffer(answer), use_awaitable);
  }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, Shop& shop) {
  for (;;) {
    tcp::socket customer = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(customer), shop), asio::detached);
  }
}

void run(const std::string& url, unsigned short port) {
  Shop shop(url);  // outlives the coroutines, which end with the context
  asio::io_context context;
  shop.redis.loop().call([&] { shop.redis.client().call({"SET", "{example}:async-stock", "20", "NX"}); });
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  asio::co_spawn(context, listen(acceptor, shop), asio::detached);
  std::cout << "selling at port " << acceptor.local_endpoint().port() << std::endl;
  context.run();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view number = argc > 2 ? argv[2] : "0";
  unsigned short port = 0;
  const auto [end, trouble] = std::from_chars(number.data(), number.data() + number.size(), port);
  if (argc < 2 || argc > 3 || trouble != std::errc() || end != number.data() + number.size()) {
    std::cerr << "usage: async_stock URL [PORT]   (redis://[[user]:password@]host[:port][/db])" << std::endl;
    return 64;
  }
  try {
    run(argv[1], port);
  } catch (const holdfast::redis::BadUrl& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
