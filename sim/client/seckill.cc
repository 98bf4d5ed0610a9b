// Workload seckill: the flash sale. Under the lock: read the stock, think, write one less, sell. Without the
// lock, or with one that is granted twice, two buyers read the same stock and one unit is sold twice.
#include <stdexcept>

#include "sim/client/fleet.h"
#include "sim/client/stock_server.h"

namespace holdfast::sim {
namespace {

using checker::Function;

class Seckill final : public Fleet {
 public:
  Seckill(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options) {
    if (options.stock < 0) throw std::invalid_argument("the stock cannot be negative");
    if (options.write == StockWrite::token) {
      throw std::invalid_argument("lock '" + options.lock +
                                  "' gives no tokens, so the stock cannot check them");
    }
  }

  std::optional<std::int64_t> initial_stock() const override { return options().stock; }
  std::optional<std::int64_t> final_stock() const override {
    return stock_ ? std::optional(stock_->units()) : std::nullopt;
  }

 private:
  void prepare() override { stock_ = std::make_unique<StockServer>(world(), options().stock); }

  void run_thread(WorkThread& thread) override {
    StockClient stock(thread.process(), stock_->endpoint(), options().command_timeout);
    bool sold_out = false;
    while (!sold_out && !thread.over()) {
      if (!thread.acquire()) continue;
      sold_out = !buy(thread, stock);
      thread.release();
    }
  }

  // [parks] False: there is nothing left to buy.
  bool buy(WorkThread& thread, StockClient& stock) {
    ThreadRecorder& record = thread.record();
    const std::string& key = options().key;
    record.resource_invoked(Function::read, key);
    const std::optional<std::int64_t> units = stock.read();
    if (!units) {
      record.resource_failed(Function::read, key, "no answer from the stock");
      return true;
    }
    record.resource_ok(Function::read, key, *units);
    if (*units <= 0) return false;
    thread.work(options().think);
    if (thread.must_abort()) {
      ++thread.stats().aborted;
      return true;
    }
    const bool blind = options().write == StockWrite::blind;
    const Function f = blind ? Function::write : Function::cas;
    const std::int64_t expected = blind ? checker::kAbsent : *units;
    // The sale begins before the write: a client that dies between the two may have sold.
    record.resource_invoked(Function::sell, key);
    record.resource_invoked(f, key, *units - 1, expected);
    switch (blind ? stock.write(*units - 1) : stock.compare_and_set(*units, *units - 1)) {
      case StockClient::Outcome::ok:
        record.resource_ok(f, key, *units - 1, expected);
        ++thread.stats().sold;
        record.resource_ok(Function::sell, key, checker::kAbsent);
        break;
      case StockClient::Outcome::conflict:
        ++thread.stats().conflicts;
        record.resource_failed(f, key, "conflict");
        record.resource_failed(Function::sell, key, "conflict");
        break;
      case StockClient::Outcome::failed:
        record.resource_failed(f, key, "no connection to the stock");
        record.resource_failed(Function::sell, key, "no connection to the stock");
        break;
      case StockClient::Outcome::unknown: record.sale_unknown(f, key, "no answer from the stock"); break;
    }
    return true;
  }

  std::unique_ptr<StockServer> stock_;
};

}  // namespace

std::unique_ptr<Workload> make_seckill(World& world, Recorder& recorder, const WorkloadOptions& options) {
  return std::make_unique<Seckill>(world, recorder, options);
}

}  // namespace holdfast::sim
