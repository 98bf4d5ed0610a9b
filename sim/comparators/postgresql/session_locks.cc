// Locks that live in a session: advisory ones, and locks of rows. The server gives such a lock up when the
// session ends, so each hold has a session to itself. The client knows of the end when its connection says
// so, and of no time until which it may be sure: valid_until() is empty.
#include "sim/client/lock_kind_rows.h"
#include "sim/comparators/foreign_lock.h"
#include "sim/comparators/postgresql/pool.h"
#include "sim/comparators/postgresql/postgresql.h"

namespace holdfast::sim::postgresql {
namespace {

// What is sent; $1 is the key. `attempt` answers at once: granted when its first value is "t"; `wait`
// answers when it is granted.
struct Recipe {
  const char* first;  // before anything else in a session, a statement of its own; null: nothing
  bool transaction;   // the hold is one
  const char* attempt;
  const char* wait;
  const char* give_back;  // instead of COMMIT: its first value is "t" if it was held
};

constexpr Recipe kAdvisory = {.first = nullptr,
                              .transaction = false,
                              .attempt = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))",
                              .wait = "SELECT pg_advisory_lock(hashtextextended($1, 0))",
                              .give_back = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"};
constexpr Recipe kAdvisoryXact = {.first = nullptr,
                                  .transaction = true,
                                  .attempt = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))",
                                  .wait = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                                  .give_back = nullptr};
constexpr Recipe kRow = {.first = "INSERT INTO row_lock VALUES ($1) ON CONFLICT DO NOTHING",
                         .transaction = true,
                         .attempt = "SELECT true FROM row_lock WHERE key = $1 FOR UPDATE SKIP LOCKED",
                         .wait = "SELECT true FROM row_lock WHERE key = $1 FOR UPDATE",
                         .give_back = nullptr};

constexpr std::string_view kLockTimeout = "55P03";  // lock_not_available

bool says_yes(const Answer& answer) { return !answer.rows.empty() && answer.rows[0][0] == "t"; }

class SessionLock final : public ForeignLock {
 public:
  SessionLock(const LockSpaceOptions& options, const std::string& key, std::shared_ptr<Pool> pool,
              const Recipe& recipe)
      : ForeignLock(options, key), pool_(std::move(pool)), recipe_(recipe) {}
  ~SessionLock() override { forget_holds(); }

 private:
  std::optional<Grant> ask(const Question& question) override {
    std::string node;
    try {
      std::shared_ptr<Session> session = pool_->take(pool_->limit());
      node = session->node();
      // In each session again: it may be one of a promoted replica, which has never heard of the row.
      if (recipe_.first != nullptr && session->note(key()))
        session->ask(recipe_.first, {key()}, pool_->limit());
      if (recipe_.transaction) session->ask("BEGIN", {}, pool_->limit());
      bool granted = says_yes(session->ask(recipe_.attempt, {key()}, pool_->limit()));
      if (!granted && question.waits) granted = wait(*session, question);
      if (!granted) {
        if (recipe_.transaction) session->ask("ROLLBACK", {}, pool_->limit());
        pool_->give(std::move(session));
        return std::nullopt;
      }
      if (!session->alive()) fail<Unavailable>("the session ended with its grant", node, false);
      Grant grant{.acquisition = new_acquisition(), .node = node};
      session->when_it_ends([this, acquisition = grant.acquisition](const std::string& why) {
        lose(acquisition, "its session ended: " + why);
      });
      grant.kept_by = std::move(session);
      return grant;
    } catch (const Error& error) {
      if (question.stop.stop_requested()) fail<Interrupted>("the wait was stopped", node, true);
      if (error.state().empty()) fail<Unavailable>(error.what(), node, error.may_have_executed());
      fail<Rejected>(error.what(), node, false);
    }
  }

  // [parks] False: not within its patience. The server keeps the queue.
  bool wait(Session& session, const Question& question) {
    const Duration left = question.deadline == kNever ? Duration::max() : question.deadline - runtime().now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    const bool patient = question.deadline == kNever;
    if (left_ms < 1) return false;
    waiting();
    const char* const set = recipe_.transaction ? "SELECT set_config('lock_timeout', $1, true)"
                                                : "SELECT set_config('lock_timeout', $1, false)";
    if (!patient) session.ask(set, {std::to_string(left_ms)}, pool_->limit());
    const MonotonicTime limit =
        patient ? kNever : deadline_after(question.deadline, options().command_timeout);
    bool granted = false;
    try {
      granted = !session.ask(recipe_.wait, {key()}, limit, question.stop).rows.empty();
    } catch (const Error& error) {
      if (error.state() != kLockTimeout) throw;
    }
    if (!patient && !recipe_.transaction) session.ask(set, {"0"}, pool_->limit());
    return granted;
  }

  void give_back(Grant& grant) override {
    const auto session = std::static_pointer_cast<Session>(std::exchange(grant.kept_by, nullptr));
    session->when_it_ends(nullptr);
    bool held = true;
    try {
      if (recipe_.transaction) {
        session->ask("COMMIT", {}, pool_->limit());
      } else {
        held = says_yes(session->ask(recipe_.give_back, {key()}, pool_->limit()));
      }
    } catch (const Error& error) {
      if (error.state().empty()) fail<Unavailable>(error.what(), grant.node, error.may_have_executed());
      fail<LockLost>(error.what(), grant.node, false);
    }
    if (!held) fail<LockLost>("the session did not hold it", grant.node, false);
    pool_->give(session);
  }

  const std::shared_ptr<Pool> pool_;
  const Recipe& recipe_;
};

std::unique_ptr<LockSpace> space(const LockSpaceOptions& options, const Recipe& recipe) {
  return keyed([options, &recipe, pool = std::make_shared<Pool>(options)](const std::string& key) {
    return std::make_shared<SessionLock>(options, key, pool, recipe);
  });
}

}  // namespace

std::unique_ptr<LockSpace> advisory_locks(const LockSpaceOptions& options) {
  return space(options, kAdvisory);
}
std::unique_ptr<LockSpace> advisory_xact_locks(const LockSpaceOptions& options) {
  return space(options, kAdvisoryXact);
}
std::unique_ptr<LockSpace> row_locks(const LockSpaceOptions& options) { return space(options, kRow); }

}  // namespace holdfast::sim::postgresql
