// A service that sells from a stock: one coroutine a customer, all on one thread, and one sale at a time
// under a lock that any number of such services share.
//
//   build/examples/async_stock redis://localhost:6379 7000     # port 0 or none: a free one, which it prints
//   nc localhost 7000                                          # each line buys one
//   curl localhost:7000/metrics                                # what Prometheus reads (tools/dashboard)
//
// A third argument is the URL of another server that has the stock: what a failover of the first one forgets
// is the lock then, and not what was sold.
//
// A customer costs a coroutine and, while he waits for the lock, a few KiB; no thread. The lock comes with a
// fencing token. The stock refuses who reads with an older one than it has seen, and who writes though
// another one has read since (a failover can give one token to two). So a service that is paused while it
// sells, or whose lock was granted again, sells nothing twice: its customer is asked to try again. One whose
// sale got no answer is told so.
//
// Ends at SIGINT or SIGTERM, and gives the lock back: nobody who waits is told any more. Exit: 0, 1 with one
// line on what went wrong, 64 bad arguments.
#include <holdfast/async/asio.h>
#include <holdfast/async/loop_client.h>
#include <holdfast/lock_metrics.h>
#include <holdfast/reentrant_lock.h>

#include <boost/asio.hpp>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <list>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

// KEYS: stock, token, seller, sold. ARGV: the seller's token, his name; then what he leaves.
const std::string kRead = R"(
  if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[2]) or '0') then
    return redis.error_reply('OLD a later seller has been here')
  end
  redis.call('mset', KEYS[2], ARGV[1], KEYS[3], ARGV[2])
  return tonumber(redis.call('get', KEYS[1]) or '0'))";
const std::string kWrite = R"(
  if redis.call('get', KEYS[3]) ~= ARGV[2] then
    return redis.error_reply('OLD another seller has been here')
  end
  redis.call('set', KEYS[1], ARGV[3])
  return redis.call('incr', KEYS[4]))";

struct Shop {
  Shop(const std::string& lock_url, const std::string& stock_url) : redis(lock_url), stock(stock_url) {
    redis.loop().call([&] { metrics->add_client("locks", redis.client()); });
  }
  ~Shop() { redis.loop().stop(); }  // what still ends there tells the metrics

  // No coroutine itself: g++ 12 destroys the arguments of some twice.
  asio::awaitable<std::int64_t> run(const std::string& script, const std::string& token,
                                    const std::string& name, const std::string& left) {
    const auto ask = [this, script, token, name, left] {
      return stock.client()
          .call({"EVAL", script, "4", "{example}:async-stock", "{example}:token", "{example}:seller",
                 "{example}:async-sold", token, name, left})
          .reply.integer;
    };
    return async_call(stock.loop().host(), ask, use_awaitable);
  }

  // The end of `hold` gives the lock back, in the background: what was sold stays sold if that fails.
  asio::awaitable<std::string> sell() {
    const holdfast::async::Hold hold = co_await async_lock(lock, use_awaitable);
    const std::string token = std::to_string(*hold.token()), name = hold.acquisition();
    std::string left;
    const std::int64_t found = co_await run(kRead, token, name, left);
    if (found <= 0) co_return "sold out\n";
    asio::steady_timer typing(co_await asio::this_coro::executor, 1ms);  // the number of a credit card
    co_await typing.async_wait(use_awaitable);
    left = std::to_string(found - 1);
    co_await run(kWrite, token, name, left);
    co_return "sold, " + left + " left\n";
  }

  asio::awaitable<std::string> scraped() {
    const auto text = [this] { return metrics->text(); };
    const std::string body = co_await async_call(redis.loop().host(), text, use_awaitable);
    co_return "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n" + body;
  }

  holdfast::LockObserver* observer() {
    return redis.loop().call([&] { return metrics->of("fenced"); });
  }

  holdfast::async::LoopClient redis, stock;
  std::shared_ptr<holdfast::LockMetrics> metrics =
      redis.loop().make<holdfast::LockMetrics>(redis.loop().runtime());
  holdfast::async::AsyncLock lock =
      redis.locks<holdfast::FencedLocks>(holdfast::LockOptions{.lease = 10s, .observer = observer()})
          .obtain("{example}:async-lock");
};

asio::awaitable<void> serve(tcp::socket customer, Shop& shop) {
  for (std::string line;; line.clear()) {
    co_await asio::async_read_until(customer, asio::dynamic_buffer(line, 8192), '\n', use_awaitable);
    if (line.starts_with("GET ")) {
      co_await asio::async_read_until(customer, asio::dynamic_buffer(line, 8192), "\r\n\r\n", use_awaitable);
      const std::string page = co_await shop.scraped();
      co_await asio::async_write(customer, asio::buffer(page), use_awaitable);
      co_return;
    }
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

using Customers = std::list<asio::cancellation_signal>;  // ends what each of them waits for

asio::awaitable<void> listen(tcp::acceptor& acceptor, Shop& shop, Customers& customers) {
  for (;;) {
    tcp::socket customer = co_await acceptor.async_accept(use_awaitable);
    const auto place = customers.emplace(customers.end());
    const auto gone = [&customers, place](const std::exception_ptr&) { customers.erase(place); };
    asio::co_spawn(acceptor.get_executor(), serve(std::move(customer), shop),
                   asio::bind_cancellation_slot(place->slot(), gone));
  }
}

void run(const std::string& lock_url, const std::string& stock_url, unsigned short port) {
  Customers customers;
  asio::io_context context;  // outlives the loops, which post to it
  Shop shop(lock_url, stock_url);
  shop.stock.loop().call([&] { shop.stock.client().call({"SET", "{example}:async-stock", "20", "NX"}); });
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) {
    acceptor.close();
    shop.stock.loop().stop();  // with the calls that nobody answers
    for (auto& customer : customers) customer.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(context, listen(acceptor, shop, customers), asio::detached);
  std::cout << "selling at port " << acceptor.local_endpoint().port() << std::endl;
  context.run();  // until the last coroutine has ended
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view number = argc > 2 ? argv[2] : "0";
  unsigned short port = 0;
  const auto [end, trouble] = std::from_chars(number.data(), number.data() + number.size(), port);
  if (argc < 2 || argc > 4 || trouble != std::errc() || end != number.data() + number.size()) {
    std::cerr << "usage: async_stock URL [PORT [STOCK-URL]]   (redis://[[user]:password@]host[:port][/db])"
              << std::endl;
    return 64;
  }
  try {
    run(argv[1], argv[argc > 3 ? 3 : 1], port);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
