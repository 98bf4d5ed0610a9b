// A lock that is a row: a unique key, an owner, an expiry by the server's clock, and a number from a
// sequence with each grant. Its holder needs no session; whoever waits asks every 100 ms, as such locks do.
//
// The number is drawn where the row is locked: one that is drawn before (in VALUES) could be given to a
// request that waited behind a later one.
#include <algorithm>
#include <chrono>
#include <limits>

#include "lib/lock/engine/lease.h"
#include "lib/lock/waiting/wakeup.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/comparators/foreign_lock.h"
#include "sim/comparators/postgresql/pool.h"
#include "sim/comparators/postgresql/postgresql.h"

namespace holdfast::sim::postgresql {
namespace {

constexpr std::chrono::milliseconds kPollEvery{100};

// $1 the key, $2 the owner, $3 the lease in milliseconds. A row is never deleted: its first token comes
// before any other of its key.
constexpr const char* kAcquire =
    "INSERT INTO table_lock AS held (key, owner, expires, token) "
    "VALUES ($1, $2, clock_timestamp() + $3::int8 * interval '1 ms', nextval('fencing')) "
    "ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, token = nextval('fencing'), "
    "expires = clock_timestamp() + $3::int8 * interval '1 ms' "
    "WHERE held.expires <= clock_timestamp() RETURNING token";
constexpr const char* kRenew =
    "UPDATE table_lock SET expires = clock_timestamp() + $3::int8 * interval '1 ms' "
    "WHERE key = $1 AND owner = $2 AND expires > clock_timestamp()";
constexpr const char* kRelease =
    "UPDATE table_lock SET expires = '-infinity' WHERE key = $1 AND owner = $2 AND expires > "
    "clock_timestamp()";

class TableLock final : public ForeignLock {
 public:
  TableLock(const LockSpaceOptions& options, const std::string& key, std::shared_ptr<Pool> pool)
      : ForeignLock(options, key),
        pool_(std::move(pool)),
        lease_(options.lock.lease),
        lease_ms_(std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(lease_).count())) {}
  ~TableLock() override { forget_holds(); }

 private:
  // Ends with the hold.
  struct Watchdog {
    std::stop_source stop = {};
    Task task = {};
    ~Watchdog() { stop.request_stop(); }
  };

  std::optional<Grant> ask(const Question& question) override {
    for (bool first = true;; first = false) {
      if (auto grant = attempt()) return grant;
      if (!question.waits || runtime().now() >= question.deadline) return std::nullopt;
      if (first) waiting();
      const MonotonicTime next = runtime().now() + kPollEvery;
      Wakeup(runtime()).wait_until(std::min(question.deadline, next), question.stop);
      if (question.stop.stop_requested()) fail<Interrupted>("the wait was stopped", "", false);
      if (runtime().now() >= question.deadline) return std::nullopt;
    }
  }

  std::optional<Grant> attempt() {
    Grant grant{.acquisition = new_acquisition(), .node = {}};
    const Answer answer =
        call(kAcquire, {key(), grant.acquisition, lease_ms_}, pool_->limit(), {}, grant.node);
    if (answer.rows.empty()) return std::nullopt;
    grant.sent_at = answer.sent_at;
    grant.valid_until = lease_end(answer.sent_at, lease_);
    grant.token = std::stoull(answer.rows[0][0]);
    if (runtime().now() >= *grant.valid_until) return std::nullopt;  // over before it was known: it expires
    grant.kept_by = watch(grant);
    return grant;
  }

  std::shared_ptr<void> watch(const Grant& grant) {
    auto watchdog = std::make_shared<Watchdog>();
    const std::stop_token stop = watchdog->stop.get_token();
    watchdog->task =
        runtime().spawn("watchdog", [this, acquisition = grant.acquisition, end = *grant.valid_until, stop] {
          keep(acquisition, end, stop);
        });
    return watchdog;
  }

  // [parks] Until the hold is over: renews it, and tells when it is lost.
  void keep(const std::string& acquisition, MonotonicTime end, const std::stop_token& stop) {
    const bool renews = options().lock.renew;
    const int most = options().lock.max_renewals.value_or(std::numeric_limits<int>::max());
    Wakeup wakeup(runtime());
    MonotonicTime due = runtime().now() + lease_ / 3;
    for (int renewals = 0;;) {
      const bool renew = renews && renewals < most;
      wakeup.wait_until(renew ? std::min(due, end) : end, stop);
      if (stop.stop_requested()) return;
      if (runtime().now() >= end) return lose(acquisition, "its lease ran out");
      tell({.kind = LockEvent::Kind::renewing, .acquisition = acquisition});
      std::string node;
      try {
        const Answer answer =
            call(kRenew, {key(), acquisition, lease_ms_}, std::min(end, pool_->limit()), stop, node);
        if (stop.stop_requested()) return;
        if (answer.affected == 0) return lose(acquisition, "its row is another's");
        if (runtime().now() >= end) return lose(acquisition, "its lease ran out");
        end = lease_end(answer.sent_at, lease_);
        renewed(acquisition, answer.sent_at, end, node);
        ++renewals;
        due = runtime().now() + lease_ / 3;
      } catch (const LockError& error) {
        if (stop.stop_requested()) return;
        tell({.kind = LockEvent::Kind::renew_failed,
              .acquisition = acquisition,
              .node = node,
              .reason = error.what()});
        due = runtime().now() + lease_ / 10;
      }
    }
  }

  void give_back(Grant& grant) override {
    grant.kept_by.reset();  // joined
    const Answer answer = call(kRelease, {key(), grant.acquisition}, pool_->limit(), {}, grant.node);
    if (answer.affected == 0) fail<LockLost>("its row is another's, or its lease ran out", grant.node, false);
  }

  // [parks] One statement in any session. Throws LockError.
  Answer call(const char* statement, const std::vector<std::string>& arguments, MonotonicTime deadline,
              const std::stop_token& stop, std::string& node) {
    try {
      std::shared_ptr<Session> session = pool_->take(deadline);
      node = session->node();
      Answer answer = session->ask(statement, arguments, deadline, stop);
      pool_->give(std::move(session));
      return answer;
    } catch (const Error& error) {
      if (error.state().empty()) fail<Unavailable>(error.what(), node, error.may_have_executed());
      fail<Rejected>(error.what(), node, false);
    }
  }

  const std::shared_ptr<Pool> pool_;
  const Duration lease_;
  const std::string lease_ms_;
};

}  // namespace

std::unique_ptr<LockSpace> table_locks(const LockSpaceOptions& options) {
  return keyed([options, pool = std::make_shared<Pool>(options)](const std::string& key) {
    return std::make_shared<TableLock>(options, key, pool);
  });
}

}  // namespace holdfast::sim::postgresql
