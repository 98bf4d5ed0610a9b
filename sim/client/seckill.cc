// Workload seckill: the flash sale. Under the lock: read the stock, think, write one less, sell. Without the
// lock, or with one that is granted twice, two buyers read the same stock and one unit is sold twice.
//
// With commit = "after-release" the transaction is around the lock: what was written under it is buffered,
// and reaches the stock when the transaction commits, after the release. Readers see committed values only.
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

std::optional<std::int64_t> rounds_of(const WorkloadOptions& options) {
  const auto* const rounds = get<std::int64_t>(options.own, "rounds");
  return rounds == nullptr ? std::nullopt : std::optional(*rounds);
}
std::optional<std::int64_t> each_of(const WorkloadOptions& options) {
  const auto* const each = get<std::int64_t>(options.own, "each");
  return each == nullptr ? std::nullopt : std::optional(*each);
}
bool below_zero(const WorkloadOptions& options) { return get_or(options.own, "below_zero", false); }
bool confirms_always(const WorkloadOptions& options) {
  return get_or(options.own, "confirm", std::string()) == "always";
}

constexpr const char* kConfirmedUnwritten = "confirmed-unwritten";

bool shows(StockWrite write) { return write == StockWrite::token || write == StockWrite::token_at_write; }

class Seckill final : public Fleet {
 public:
  Seckill(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        units_(get_or(options.own, "stock", std::int64_t{10})),
        write_(write_of(options)),
        rounds_(rounds_of(options)),
        each_(each_of(options)),
        below_zero_(below_zero(options)),
        after_release_(get_or(options.own, "commit", std::string()) == "after-release"),
        confirms_always_(confirms_always(options)),
        commit_after_(get_or(options.own, "commit_after", DurationRange{})) {}

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
    bool done = false;
    std::int64_t bought = 0;
    for (std::int64_t round = 0; (!rounds_ || round < *rounds_) && !done && !thread.over(); ++round) {
      thread.begin_round();
      if (!thread.acquire()) continue;
      const Look look = look_at(thread, stock);
      bool buys = look.units && !after_release_ && commit(thread, stock, *look.units);
      thread.release();
      if (look.units && after_release_) buys = commit(thread, stock, *look.units);
      if (buys) ++bought;
      done = look.sold_out || (each_ && bought == *each_);
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

  // What a buyer found under the lock.
  struct Look {
    std::optional<std::int64_t> units = {};  // he takes one of so many; none: he writes nothing
    bool sold_out = false;                   // and there will be no more
  };

  Look look_at(WorkThread& thread, StockClient& stock) {  // [parks]
    ThreadRecorder& record = thread.record();
    const std::string& key = options().key;
    record.resource_invoked(Function::read, key);
    std::int64_t units = 0;
    const bool shown_at_read = write_ == StockWrite::token;
    switch (stock.read(units, shown_at_read ? std::optional(token_of(thread)) : std::nullopt)) {
      case StockClient::Outcome::ok: break;
      case StockClient::Outcome::stale:
        ++thread.stats().stale;
        thread.failed();
        record.resource_failed(Function::read, key, "stale token");
        return nothing_written(thread);
      default:
        thread.failed();
        record.resource_failed(Function::read, key, "no answer from the stock");
        return nothing_written(thread);
    }
    record.resource_ok(Function::read, key, units);
    if (units <= 0 && !below_zero_) {
      nothing_written(thread);
      return {.sold_out = !confirms_always_};
    }
    thread.work(options().think);
    if (thread.only_reads()) return {};
    if (thread.must_abort()) {
      ++thread.stats().aborted;
      return nothing_written(thread);
    }
    return {.units = units};
  }

  // Whoever does not look at what became of the write tells the buyer that he bought.
  Look nothing_written(WorkThread& thread) {
    if (!confirms_always_) return {};
    thread.record().resource_invoked(Function::sell, options().key);
    confirm_unwritten(thread);
    return {};
  }
  void confirm_unwritten(WorkThread& thread) {
    recorder().mark(kConfirmedUnwritten);
    ++thread.stats().sold;
    thread.record().resource_ok(Function::sell, options().key, checker::kAbsent);
  }

  void refused(WorkThread& thread, Function f, std::string_view why) {
    thread.record().resource_failed(f, options().key, why);
    if (confirms_always_) {
      confirm_unwritten(thread);
    } else {
      thread.record().resource_failed(Function::sell, options().key, why);
    }
  }

  // [parks] One less than the `units` that were read becomes what others see. True: the buyer does not try
  // again, for he bought, or has no answer.
  bool commit(WorkThread& thread, StockClient& stock, std::int64_t units) {
    thread.pause(commit_after_);
    ThreadRecorder& record = thread.record();
    const std::string& key = options().key;
    const bool compares = write_ == StockWrite::compare_and_set;
    const Function f = compares ? Function::cas : Function::write;
    const std::int64_t shown = compares                      ? units
                               : write_ == StockWrite::blind ? checker::kAbsent
                                                             : token_of(thread);
    // The sale begins before the write: a client that dies between the two may have sold.
    record.resource_invoked(Function::sell, key);
    record.resource_invoked(f, key, units - 1, shown);
    const StockClient::Outcome written = write(thread, stock, units);
    if (written != StockClient::Outcome::ok) thread.failed();
    switch (written) {
      case StockClient::Outcome::ok:
        record.resource_ok(f, key, units - 1, shown);
        ++thread.stats().sold;
        record.resource_ok(Function::sell, key, checker::kAbsent);
        return true;
      case StockClient::Outcome::conflict:
        ++thread.stats().conflicts;
        refused(thread, f, "conflict");
        break;
      case StockClient::Outcome::stale:
        ++thread.stats().stale;
        refused(thread, f, "stale token");
        break;
      case StockClient::Outcome::failed: refused(thread, f, "no connection to the stock"); break;
      case StockClient::Outcome::unknown:
        if (confirms_always_) {
          confirm_unwritten(thread);
          record.resource_unknown(f, key, "no answer from the stock");
        } else {
          record.sale_unknown(f, key, "no answer from the stock");
        }
        return true;
    }
    return confirms_always_;
  }

  const std::int64_t units_;  // at the beginning
  const StockWrite write_;
  const std::optional<std::int64_t> rounds_;  // none: until everything is sold
  const std::optional<std::int64_t> each_;    // none: no buyer has enough
  const bool below_zero_, after_release_, confirms_always_;
  const DurationRange commit_after_;
  std::unique_ptr<StockServer> stock_;
};

bool gives_tokens(const LockKind& lock) { return lock.tokens; }

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind& lock) {
  for (const auto& [key, asked] :
       {std::pair("below_zero", below_zero(options)), std::pair("confirm", confirms_always(options))}) {
    if (!asked || rounds_of(options)) continue;
    return WorkloadProblem{
        .key = key,
        .what = "`" + std::string(key) + "`: nobody is told that all is sold, expected `rounds` as well"};
  }
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
      {.name = "rounds",
       .type = Type::count,
       .about = "purchases that each task tries, refused ones included (until all is sold)",
       .most = 1'000'000},
      {.name = "each",
       .type = Type::count,
       .about = "units that each task buys at most; refused purchases are tried again (any number)",
       .most = 1'000'000},
      {.name = "below_zero",
       .type = Type::flag,
       .about = "buyers do not look whether any is left; needs `rounds` (false)"},
      {.name = "commit",
       .type = Type::text,
       .about = "when others see what was written: under-lock; after-release: the transaction ends after the "
                "release (under-lock)",
       .choices = {"under-lock", "after-release"}},
      {.name = "commit_after",
       .type = Type::range,
       .about = "from the end of the work, or from the release, to the commit (none)"},
      {.name = "confirm",
       .type = Type::text,
       .about = "when a buyer is told that he bought: written; always: whatever became of the write; needs "
                "`rounds` (written)",
       .choices = {"written", "always"}},
  };
  kind.checks = {"oversell", "lost-update", "negative-stock"};
  kind.marks = {{"sold-out", "the stock came down to zero"},
                {kConfirmedUnwritten, "a buyer was told that he bought, without a write that succeeded"}};
  kind.cost = "oversold";
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<Seckill>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
