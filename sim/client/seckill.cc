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
      thread.begin_round();
      if (!thread.acquire()) continue;
      sold_out = !buy(thread, stock);
      thread.release();
    }
  }

  // A grant without a token gets one that every stock refuses.
  static std::int64_t token_of(const WorkThread& thread) { return thread.token().value_or(-1); }

  // [parks] One less than the `units` that were read.
  StockClient::Outcome write(const WorkThread& thread, StockClient& stock, std::int64_t units) {
    switch (options().write) {
      case StockWrite::blind: return stock.write(units - 1);
      case StockWrite::compare_and_set: return stock.compare_and_set(units, units - 1);
      case StockWrite::token:
      case StockWrite::token_at_write: return stock.write_with_token(units - 1, token_of(thread));
    }
    return StockClient::Outcome::failed;
  }

  // [parks] False: there is nothing left to buy.
  bool buy(WorkThread& thread, StockClient& stock) {
    ThreadRecorder& record = thread.record();
    const std::string& key = options().key;
    record.resource_invoked(Function::read, key);
    std::int64_t units = 0;
    const bool shows = options().write == StockWrite::token;
    switch (stock.read(units, shows ? std::optional(token_of(thread)) : std::nullopt)) {
      case StockClient::Outcome::ok: break;
      case StockClient::Outcome::stale:
        ++thread.stats().stale;
        record.resource_failed(Function::read, key, "stale token");
        return true;
      default: record.resource_failed(Function::read, key, "no answer from the stock"); return true;
    }
    record.resource_ok(Function::read, key, units);
    if (units <= 0) return false;
    thread.work(options().think);
    if (thread.only_reads()) return true;
    if (thread.must_abort()) {
      ++thread.stats().aborted;
      return true;
    }
    const bool compares = options().write == StockWrite::compare_and_set;
    const Function f = compares ? Function::cas : Function::write;
    const std::int64_t shown = compares                               ? units
                               : options().write == StockWrite::blind ? checker::kAbsent
                                                                      : token_of(thread);
    // The sale begins before the write: a client that dies between the two may have sold.
    record.resource_invoked(Function::sell, key);
    record.resource_invoked(f, key, units - 1, shown);
    switch (write(thread, stock, units)) {
      case StockClient::Outcome::ok:
        record.resource_ok(f, key, units - 1, shown);
        ++thread.stats().sold;
        record.resource_ok(Function::sell, key, checker::kAbsent);
        break;
      case StockClient::Outcome::conflict:
        ++thread.stats().conflicts;
        record.resource_failed(f, key, "conflict");
        record.resource_failed(Function::sell, key, "conflict");
        break;
      case StockClient::Outcome::stale:
        ++thread.stats().stale;
        record.resource_failed(f, key, "stale token");
        record.resource_failed(Function::sell, key, "stale token");
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
