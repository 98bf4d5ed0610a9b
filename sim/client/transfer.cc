// Workload transfer: two keys at once. Two accounts, "<key>:a" and "<key>:b", each with a lock of the same
// name; clients with an odd number move money from a to b, the others back. Under both locks: read both
// accounts, think, write both. Without them, or with one that is granted twice, money is lost or made, or an
// account goes below zero.
//
// The multi lock takes both keys at once (its members have these names); any other kind is taken key by key.
//
// The accounts are a process of its own, outside the Redis under test. One line per request, one per answer:
//
//   GET <account>           -> <money>
//   SET <account> <money>   -> <money>
//   ADD <account> <money>   -> <money>           (what is there now; below zero, too)
//   TAKE <account> <money>  -> <money> | POOR    (never below zero)
#include <algorithm>
#include <array>

#include "sim/client/fleet.h"
#include "sim/client/line_server.h"
#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

using checker::Function;

constexpr std::array<std::string_view, 2> kSides = {"a", "b"};

class Accounts final : public LineServer {
 public:
  // [parks]
  Accounts(World& world, std::int64_t each) : LineServer(world, "accounts"), money_{each, each} {}
  std::int64_t money(std::size_t side) const { return money_[side]; }

 private:
  std::string answer(std::string_view request) override {
    const std::size_t space = request.find(' ');
    if (space == std::string_view::npos || space + 2 > request.size()) return "ERROR unknown request";
    const std::string_view verb = request.substr(0, space);
    std::int64_t& money = money_[request[space + 1] == 'a' ? 0 : 1];
    request.remove_prefix(space + 2);
    const std::int64_t given = take_number(request).value_or(0);
    if (verb == "TAKE" && money < given) return "POOR";
    if (verb == "SET") money = given;
    if (verb == "ADD") money += given;
    if (verb == "TAKE") money -= given;
    return std::to_string(money);
  }

  std::array<std::int64_t, 2> money_;
};

// set: what was computed from the reading is written; add: the accounts add, whatever is there; take: the
// same, and they refuse to go below zero.
enum class AccountWrite : std::uint8_t { set, add, take };
enum class Written : std::uint8_t { done, refused, unknown };

class Transfer final : public Fleet {
 public:
  Transfer(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        each_(get_or(options.own, "money", std::int64_t{100})),
        amount_(get_or(options.own, "amount", std::int64_t{10})),
        rounds_(get_or(options.own, "rounds", std::int64_t{10})),
        sorted_(get_or(options.own, "order", std::string("sorted")) == "sorted"),
        at_once_(lock_kind_of(options).pair) {
    const std::string write = get_or(options.own, "update", std::string("set"));
    write_ = write == "add" ? AccountWrite::add : write == "take" ? AccountWrite::take : AccountWrite::set;
  }

  void conclude() override { audit(); }

  std::vector<Figure> figures(const checker::History&) const override {
    std::int64_t sum = 0, amiss = 0;
    for (std::size_t side = 0; accounts_ && side < kSides.size(); ++side) {
      const std::int64_t money = accounts_->money(side);
      sum += money;
      amiss += std::abs(money - each_ - moved_[side]) + std::max<std::int64_t>(0, -money);
    }
    return {{"transferred", transferred_}, {"begin", 2 * each_}, {"end", sum}, {"amiss", amiss}};
  }
  std::string sum_up(const std::vector<Figure>& figures) const override {
    const auto number = [&](std::string_view name) { return std::to_string(figure(figures, name)); };
    return "accounts " + number("begin") + " at the beginning, " + number("end") + " at the end, " +
           number("transferred") + " transfers, " + number("amiss") + " amiss";
  }

 private:
  std::string account(std::size_t side) const { return options().key + ":" + std::string(kSides[side]); }
  // The key of the lock that a thread has by itself: of the multi lock the only one.
  std::string key_of(const std::string&, int) const override { return at_once_ ? options().key : account(0); }
  std::set<std::string> keys() const override {
    return at_once_ ? std::set{options().key} : std::set{account(0), account(1)};
  }

  void prepare() override {
    accounts_ = std::make_unique<Accounts>(world(), each_);
    audit();
  }

  // What is in the accounts, for the check: read past everybody.
  void audit() {
    if (!accounts_) return;
    for (std::size_t side = 0; side < kSides.size(); ++side) {
      checker::Event event;
      event.f = Function::read;
      event.process = recorder().history().intern("audit");
      event.key = recorder().history().intern(account(side));
      recorder().append(event);
      event.type = checker::EventType::ok;
      event.value = checker::Value(accounts_->money(side));
      recorder().append(event);
    }
  }

  void run_thread(WorkThread& thread) override {
    LineClient line(thread.process(), accounts_->endpoint(), options().command_timeout);
    const int client = std::stoi(thread.process().name().substr(1));
    const std::size_t from = client % 2 == 1 ? 0 : 1, to = 1 - from;
    for (std::int64_t round = 0; round < rounds_ && !thread.over();) {
      thread.begin_round();
      const std::vector<std::shared_ptr<Lock>> locks = locks_of(thread, from, to);
      std::size_t held = 0;
      while (held < locks.size() && thread.acquire(*locks[held])) ++held;
      if (held == locks.size()) {
        move(thread, line, locks, from, to);
        ++round;
      }
      while (held > 0) thread.release(*locks[--held]);
    }
  }

  std::vector<std::shared_ptr<Lock>> locks_of(WorkThread& thread, std::size_t from, std::size_t to) const {
    if (at_once_) return {thread.obtain(key_of("", 0))};
    if (sorted_ && from > to) std::swap(from, to);
    return {thread.obtain(account(from)), thread.obtain(account(to))};
  }

  // [parks] Under the locks.
  void move(WorkThread& thread, LineClient& line, const std::vector<std::shared_ptr<Lock>>& locks,
            std::size_t from, std::size_t to) {
    const auto rich = read(thread, line, from), poor = read(thread, line, to);
    if (!rich || !poor) thread.failed();
    if (!rich || !poor || *rich < amount_) return;
    thread.pause(options().think);
    if (std::any_of(locks.begin(), locks.end(),
                    [&](const std::shared_ptr<Lock>& lock) { return thread.must_abort(*lock); })) {
      ++thread.stats().aborted;
      return;
    }
    ThreadRecorder& record = thread.record();
    // What the transfer is to do, until it is done: a client that dies between the two writes has done half.
    record.other_invoked("debit", account(from), amount_);
    record.other_invoked("credit", account(to), amount_);
    const Written taken = write(thread, line, from, *rich, -amount_);
    if (taken == Written::refused) {
      thread.failed();
      record.other_failed("debit", account(from), amount_);
      record.other_failed("credit", account(to), amount_);
      return;
    }
    if (taken == Written::unknown || write(thread, line, to, *poor, amount_) != Written::done) {
      thread.failed();
      record.other_unknown("debit", account(from), amount_);
      record.other_unknown("credit", account(to), amount_);
      return;
    }
    record.other_ok("debit", account(from), amount_);
    record.other_ok("credit", account(to), amount_);
    ++transferred_;
    moved_[from] -= amount_;
    moved_[to] += amount_;
  }

  // [parks] Nothing: the accounts do not answer.
  std::optional<std::int64_t> read(WorkThread& thread, LineClient& line, std::size_t side) {
    ThreadRecorder& record = thread.record();
    record.resource_invoked(Function::read, account(side));
    bool sent = false;
    const auto answer = line.ask("GET " + std::string(kSides[side]), sent);
    if (!answer) {
      record.resource_failed(Function::read, account(side), "no answer from the accounts");
      return std::nullopt;
    }
    std::string_view text = *answer;
    const auto money = take_number(text);
    record.resource_ok(Function::read, account(side), money.value_or(0));
    return money;
  }

  // [parks] `was`: what was read.
  Written write(WorkThread& thread, LineClient& line, std::size_t side, std::int64_t was,
                std::int64_t change) {
    ThreadRecorder& record = thread.record();
    const std::string key = account(side), name(kSides[side]);
    const bool sets = write_ == AccountWrite::set;
    const std::string request = sets ? "SET " + name + " " + std::to_string(was + change)
                                : change < 0 && write_ == AccountWrite::take
                                    ? "TAKE " + name + " " + std::to_string(-change)
                                    : "ADD " + name + " " + std::to_string(change);
    record.resource_invoked(Function::write, key, sets ? was + change : checker::kAbsent);
    bool sent = false;
    const auto answer = line.ask(request, sent);
    if (!answer && sent) {
      record.resource_unknown(Function::write, key, "no answer from the accounts");
      return Written::unknown;
    }
    if (!answer || *answer == "POOR") {
      ++thread.stats().conflicts;
      record.resource_failed(Function::write, key,
                             answer ? "not enough money" : "no connection to the accounts");
      return Written::refused;
    }
    std::string_view text = *answer;
    record.resource_ok(Function::write, key, take_number(text).value_or(0));
    return Written::done;
  }

  const std::int64_t each_, amount_, rounds_;
  const bool sorted_, at_once_;
  AccountWrite write_ = AccountWrite::set;
  std::unique_ptr<Accounts> accounts_;
  std::int64_t transferred_ = 0;                // that returned ok,
  std::array<std::int64_t, 2> moved_ = {0, 0};  // and what they made of each account
};

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind&) {
  if (options.readers == 0) return std::nullopt;
  return WorkloadProblem{.key = "readers",
                         .what = "`readers`: every round of a transfer writes, expected none"};
}

}  // namespace

WorkloadKind transfer_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{.name = "transfer", .about = "money moves between two accounts, under the locks of both"};
  kind.keys = {
      {.name = "money",
       .type = Type::count,
       .about = "in each account at the beginning (100)",
       .most = 1'000'000'000},
      {.name = "amount", .type = Type::count, .about = "what one transfer moves (10)", .most = 1'000'000'000},
      {.name = "rounds", .type = Type::count, .about = "transfers of each task (10)", .most = 1'000'000},
      {.name = "update",
       .type = Type::text,
       .about = "set: what was computed from the reading is written; add: the accounts add and subtract; "
                "take: the same, and they refuse to fall below zero (set)",
       .choices = {"set", "add", "take"}},
      {.name = "order",
       .type = Type::text,
       .about =
           "of the two locks: sorted by name, or payer-first, which is not the same for everybody (sorted)",
       .choices = {"sorted", "payer-first"}},
  };
  kind.checks = {"balance"};
  kind.cost = "amiss";
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<Transfer>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
