// The stock of the annotation design as it was published: a row that is read, and written back as one less,
// in a transaction at READ COMMITTED, PostgreSQL's default. The lock around it is what keeps it right. Beside
// it, what a database offers instead of a lock.
//
// A transaction that fails sold nothing; one whose COMMIT is not answered may have.
#include <algorithm>
#include <optional>
#include <string>

#include "sim/client/fleet.h"
#include "sim/client/workload_kind.h"
#include "sim/comparators/postgresql/pool.h"
#include "sim/comparators/postgresql/postgresql.h"

namespace holdfast::sim::postgresql {
namespace {

using checker::Function;

// What a buyer sends: `begin`, `read`, `write` ($1: one less than what was read), COMMIT.
struct Sale {
  const char* begin;
  const char* read;  // null: nothing is read
  const char* write;
};

constexpr const char* kSetTo = "UPDATE stock SET count = $1::int8 WHERE id = 1 RETURNING count";

Sale sale_of(const WorkloadOptions& options) {
  const std::string kind = get_or(options.own, "transaction", std::string("select-update"));
  const char* const select = "SELECT count FROM stock WHERE id = 1";
  if (kind == "for-update")
    return {"BEGIN ISOLATION LEVEL READ COMMITTED", "SELECT count FROM stock WHERE id = 1 FOR UPDATE",
            kSetTo};
  if (kind == "serializable") return {"BEGIN ISOLATION LEVEL SERIALIZABLE", select, kSetTo};
  if (kind == "decrement")
    return {"BEGIN ISOLATION LEVEL READ COMMITTED", nullptr,
            "UPDATE stock SET count = count - 1 WHERE id = 1 AND count > 0 RETURNING count"};
  return {"BEGIN ISOLATION LEVEL READ COMMITTED", select, kSetTo};
}

class Stock final : public Fleet {
 public:
  Stock(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        units_(get_or(options.own, "stock", std::int64_t{10})),
        sale_(sale_of(options)) {}

  void conclude() override {
    try {
      const auto session = connect("rest");
      const Answer answer = session->ask("SELECT count FROM stock WHERE id = 1", {}, limit());
      left_ = std::stoll(answer.rows.at(0).at(0));
    } catch (const Error&) {  // nobody knows
    }
  }
  void tell(checker::CheckContext& context) const override {
    context.initial_stock = units_;
    context.final_stock = left_;
  }
  std::vector<Figure> figures(const checker::History& history) const override {
    const auto& events = history.events();
    const std::int64_t sold = std::count_if(events.begin(), events.end(), [](const checker::Event& event) {
      return event.f == Function::sell && event.type == checker::EventType::ok;
    });
    return {{"stock", units_}, {"sold", sold}, {"oversold", std::max<std::int64_t>(0, sold - units_)}};
  }
  std::string sum_up(const std::vector<Figure>& figures) const override {
    const auto number = [&](std::string_view name) { return std::to_string(figure(figures, name)); };
    return "shop " + number("stock") + " in stock, " + number("sold") + " sold: " +
           (figure(figures, "oversold") > 0 ? number("oversold") + " sold that it did not have"
                                            : "nothing oversold");
  }

 private:
  MonotonicTime limit() {
    return deadline_after(world().harness().runtime().now(), options().command_timeout);
  }
  std::shared_ptr<Session> connect(const std::string& client) {
    return Session::connect(world().harness().runtime(),
                            {.nodes = options().doors.at(client), .application = client});
  }

  void prepare() override {
    const auto session = connect("rest");
    session->ask("CREATE TABLE stock (id int PRIMARY KEY, count int8 NOT NULL)", {}, limit());
    session->ask("INSERT INTO stock VALUES (1, $1::int8)", {std::to_string(units_)}, limit());
  }

  void run_thread(WorkThread& thread) override {
    const std::string name = thread.process().name();
    Pool pool(thread.process().runtime(),
              {.nodes = options().doors.at(name),
               .application = name,
               .connect_timeout = options().connect_timeout},
              options().command_timeout);
    for (bool sold_out = false; !sold_out && !thread.over();) {
      thread.begin_round();
      if (!thread.acquire()) continue;
      sold_out = buy(thread, pool);
      thread.release();
    }
  }

  // [parks] One purchase. True: there is nothing left.
  bool buy(WorkThread& thread, Pool& pool) {
    Purchase purchase{thread.record(), options().key};
    try {
      const std::shared_ptr<Session> session = pool.take(pool.limit());
      session->ask(sale_.begin, {}, pool.limit());
      std::int64_t units = 0;
      if (sale_.read != nullptr) {
        purchase.read();
        units = std::stoll(session->ask(sale_.read, {}, pool.limit()).rows.at(0).at(0));
        purchase.read_ok(units);
        if (units <= 0) return give_up(*session, pool, session);
      }
      thread.work(options().think);
      if (thread.must_abort()) {
        ++thread.stats().aborted;
        return give_up(*session, pool, session), false;
      }
      purchase.sell(sale_.read == nullptr ? checker::kAbsent : units - 1);
      const Answer written = sale_.read == nullptr
                                 ? session->ask(sale_.write, {}, pool.limit())
                                 : session->ask(sale_.write, {std::to_string(units - 1)}, pool.limit());
      if (written.rows.empty()) {
        purchase.failed("nothing is left");
        return give_up(*session, pool, session);
      }
      purchase.commits();
      session->ask("COMMIT", {}, pool.limit());
      purchase.sold(std::stoll(written.rows[0][0]));
      ++thread.stats().sold;
      pool.give(session);
    } catch (const Error& error) {
      thread.failed();
      if (error.state().starts_with("40")) ++thread.stats().conflicts;  // serialization, deadlock
      purchase.ended(error);
    }
    return false;
  }

  static bool give_up(Session& session, Pool& pool, const std::shared_ptr<Session>& whole) {
    session.ask("ROLLBACK", {}, pool.limit());
    pool.give(whole);
    return true;
  }

  // What is written down of one purchase. It takes effect with its COMMIT.
  class Purchase {
   public:
    Purchase(ThreadRecorder& record, const std::string& key) : record_(record), key_(key) {}
    void read() {
      record_.resource_invoked(Function::read, key_);
      at_ = At::read;
    }
    void read_ok(std::int64_t units) {
      record_.resource_ok(Function::read, key_, units);
      at_ = At::nowhere;
    }
    void sell(std::int64_t value) {
      record_.resource_invoked(Function::sell, key_);
      record_.resource_invoked(Function::write, key_, value);
      at_ = At::sells;
    }
    void commits() { at_ = At::commits; }
    void sold(std::int64_t units) {
      record_.resource_ok(Function::write, key_, units);
      record_.resource_ok(Function::sell, key_, checker::kAbsent);
      at_ = At::nowhere;
    }
    void failed(std::string_view why) {
      record_.resource_failed(Function::write, key_, why);
      record_.resource_failed(Function::sell, key_, why);
      at_ = At::nowhere;
    }
    void ended(const Error& error) {
      if (at_ == At::read) record_.resource_failed(Function::read, key_, error.what());
      const bool unknown = at_ == At::commits && error.state().empty();
      if (unknown) record_.sale_unknown(Function::write, key_, error.what());
      if (!unknown && at_ >= At::sells) failed(error.what());
    }

   private:
    enum class At : std::uint8_t { nowhere, read, sells, commits };
    ThreadRecorder& record_;
    const std::string& key_;
    At at_ = At::nowhere;
  };

  const std::int64_t units_;  // at the beginning
  const Sale sale_;
  std::optional<std::int64_t> left_;
};

}  // namespace

std::unique_ptr<Workload> stock(World& world, Recorder& recorder, const WorkloadOptions& options) {
  return std::make_unique<Stock>(world, recorder, options);
}

}  // namespace holdfast::sim::postgresql
