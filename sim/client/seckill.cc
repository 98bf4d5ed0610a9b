// Workload seckill: the flash sale. Under the lock: read the stock, think, write one less, sell. Without the
// lock, or with one that is granted twice, two buyers read the same stock and one unit is sold twice.
#include <algorithm>

#include "sim/client/fleet.h"
#include "sim/client/stock_server.h"
#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// token: the stock refuses a token older than the newest that it was shown, by reads as well;
// token_at_write: it is shown tokens by writes only.
enum class StockWrite : std::uint8_t { blind, compare_and_set, token, token_at_write };

StockWrite write_of(const WorkloadOptions& options) {
  const std::string write = get_or(options.own, "write", std::string("blind"));
  return write == "compare-and-set"  ? StockWrite::compare_and_set
         : write == "token"          ? StockWrite::token
         : write == "token-at-write" ? StockWrite::token_at_write
                                     : StockWrite::blind;
}

bool shows(StockWrite write) { return write == StockWrite::token || write == StockWrite::token_at_write; }

class Seckill final : public Fleet {
 public:
  Seckill(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        units_(get_or(options.own, "stock", std::int64_t{10})),
        write_(write_of(options)) {}

  void conclude() override {
    if (stock_ && stock_->units() <= 0) recorder().mark("sold-out");
  }
  void tell(checker::CheckContext& context) const override {
    context.initial_stock = units_;
    if (stock_) context.final_stock = stock_->units();
  }
  std::vector<Figure> figures(const checker::History& history) const override {
    const auto& events = history.events();
    const std::int64_t sold = std::count_if(events.begin(), events.end(), [](const checker::Event& event) {
      return event.f == Function::sell && event.type == checker::EventType::ok;
    });
    return {{"stock", units_},
            {"sold", sold},
            {"oversold", std::max<std::int64_t>(0, sold - units_)},
            {"left", stock_ ? stock_->units() : units_}};
  }
  std::string sum_up(const std::vector<Figure>& figures) const override {
    const auto number = [&](std::string_view name) { return std::to_string(figure(figures, name)); };
    return "shop " + number("stock") + " in stock, " + number("sold") + " sold: " +
           (figure(figures, "oversold") > 0 ? number("oversold") + " sold that it did not have"
                                            : "nothing oversold");
  }

 private:
  void prepare() override { stock_ = std::make_unique<StockServer>(world(), units_); }
  bool shows_tokens() const override { return shows(write_); }

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
    switch (write_) {
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
    const bool shown_at_read = write_ == StockWrite::token;
    switch (stock.read(units, shown_at_read ? std::optional(token_of(thread)) : std::nullopt)) {
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
    const bool compares = write_ == StockWrite::compare_and_set;
    const Function f = compares ? Function::cas : Function::write;
    const std::int64_t shown = compares                      ? units
                               : write_ == StockWrite::blind ? checker::kAbsent
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

  const std::int64_t units_;  // at the beginning
  const StockWrite write_;
  std::unique_ptr<StockServer> stock_;
};

bool gives_tokens(const LockKind& lock) { return lock.tokens; }

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind& lock) {
  if (!shows(write_of(options)) || gives_tokens(lock)) return std::nullopt;
  return WorkloadProblem{.key = "write",
                         .what = "`write`: the lock `" + std::string(lock.name) + "` gives no tokens",
                         .able = gives_tokens};
}

}  // namespace

WorkloadKind seckill_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{.name = "seckill", .about = "a flash sale: read the stock, think, write one less, sell"};
  kind.keys = {
      {.name = "stock", .type = Type::count, .about = "units (10)", .most = 1'000'000},
      {.name = "write",
       .type = Type::text,
       .about = "token: the stock refuses who shows an older token than the newest that it saw, when "
                "reading, too; "
                "token-at-write: it is shown tokens by writes only, which is too late (blind)",
       .choices = {"blind", "compare-and-set", "token", "token-at-write"}},
  };
  kind.checks = {"oversell", "lost-update"};
  kind.marks = {{"sold-out", "the stock came down to zero"}};
  kind.cost = "oversold";
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<Seckill>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
