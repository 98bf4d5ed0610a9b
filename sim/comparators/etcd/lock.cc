// The lock of etcd's own clients (clientv3/concurrency, `etcdctl lock`): a lease that is kept alive, and a
// key with that lease, put by a transaction. Held by the key with the lowest create revision under the
// prefix; whoever waits watches for the deletion of the key before his own. The create revision of his key
// is his token: revisions only rise, and are agreed on.
//
// Each acquisition has a lease of its own, which is counted from before the request that was answered was
// sent. Whoever has waited looks for his own key again: his lease may have run out meanwhile.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "lib/lock/engine/lease.h"
#include "lib/lock/waiting/wakeup.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/comparators/etcd/client.h"
#include "sim/comparators/etcd/etcd.h"
#include "sim/comparators/foreign_lock.h"

namespace holdfast::sim::etcd {
namespace {

// A lease at the server, and who keeps it alive. Goes with its holder; the server's ends by itself then.
struct Session {
  std::string lease, key;  // the key hangs on it
  std::string acquisition, node;
  Duration ttl{};
  MonotonicTime sent_at{}, end{};
  bool granted = false;         // the lock: its renewals are told and counted
  std::stop_source stop = {};   // to its keeper
  std::stop_source ended = {};  // by its keeper: it is over
  Task keeper = {};
  ~Session() { stop.request_stop(); }
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

class EtcdLock final : public ForeignLock {
 public:
  EtcdLock(const LockSpaceOptions& options, const std::string& key, std::shared_ptr<Client> client)
      : ForeignLock(options, key),
        client_(std::move(client)),
        prefix_("holdfast/" + key + "/"),
        after_prefix_("holdfast/" + key + "0") {}  // '/' + 1
  ~EtcdLock() override { forget_holds(); }

 private:
  std::optional<Grant> ask(const Question& question) override {
    std::shared_ptr<Session> session;
    try {
      for (bool told = false;;) {
        session = open_session();
        std::int64_t mine = 0;
        bool first = enter(*session, mine);
        while (!first && question.waits && !session->ended.stop_requested()) {
          if (!std::exchange(told, true)) waiting();
          first = wait(*session, mine, question);
          if (!first && (question.stop.stop_requested() || runtime().now() >= question.deadline)) break;
        }
        if (first && runtime().now() < session->end && !session->ended.stop_requested())
          return granted(session, mine);
        const bool over =
            question.stop.stop_requested() || !question.waits || runtime().now() >= question.deadline;
        leave(*session);
        if (question.stop.stop_requested()) fail<Interrupted>("the wait was stopped", session->node, false);
        if (over) return std::nullopt;
      }
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::refused) fail<Rejected>(error.what(), error.node(), false);
      fail<Unavailable>(error.what(), error.node(), error.may_have_executed());
    } catch (const Json::exception& error) {  // an answer without what it should have
      fail<Unavailable>(error.what(), session ? session->node : "", true);
    }
  }

  std::shared_ptr<Session> open_session() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options().lock.lease).count();
    auto session = std::make_shared<Session>();
    const Answer answer =
        client_->ask("/v3/lease/grant", {{"TTL", std::to_string(seconds)}}, client_->limit());
    session->lease = std::to_string(number_at(answer.body, "ID"));
    session->ttl = std::chrono::seconds(number_at(answer.body, "TTL"));
    session->node = answer.node;
    session->sent_at = answer.sent_at;
    session->end = lease_end(answer.sent_at, session->ttl);
    session->key = prefix_ + session->lease;
    session->acquisition = new_acquisition();
    const std::stop_token stop = session->stop.get_token();
    session->keeper = runtime().spawn("watchdog", [this, kept = session.get(), stop] { keep(*kept, stop); });
    return session;
  }

  // [parks] Puts the key, if it is not there already. True: nobody is before it. `mine`: its create revision.
  bool enter(Session& session, std::int64_t& mine) {
    const std::string key = to_base64(session.key);
    const Json owner = {{"request_range",
                         {{"key", to_base64(prefix_)},
                          {"range_end", to_base64(after_prefix_)},
                          {"sort_order", "ASCEND"},
                          {"sort_target", "CREATE"},
                          {"limit", "1"},
                          {"keys_only", true}}}};
    const Json put = {
        {"request_put", {{"key", key}, {"value", to_base64(session.acquisition)}, {"lease", session.lease}}}};
    const Json get = {{"request_range", {{"key", key}}}};
    const Json request = {
        {"compare", {{{"key", key}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}}}},
        {"success", {put, owner}},
        {"failure", {get, owner}}};
    Answer answer;
    try {
      answer = client_->ask("/v3/kv/txn", request, client_->limit(), session.ended.get_token());
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::not_found && !session.ended.stop_requested()) throw;
      session.ended.request_stop();  // its lease ran out before it came
      return false;
    }
    const Json& responses = answer.body.at("responses");
    session.node = answer.node;
    if (answer.body.value("succeeded", false)) {
      mine = number_at(answer.body.at("header"), "revision");
    } else {
      mine = number_at(responses.at(0).at("response_range").at("kvs").at(0), "create_revision");
    }
    return number_at(responses.at(1).at("response_range").at("kvs").at(0), "create_revision") == mine;
  }

  // [parks] Until the key before ours is deleted, or nobody is before us: that is told by `true`.
  bool wait(Session& session, std::int64_t mine, const Question& question) {
    const std::stop_token ended = session.ended.get_token();
    std::stop_source both;
    const std::stop_callback first(ended, [&both] { both.request_stop(); });
    const std::stop_callback second(question.stop, [&both] { both.request_stop(); });
    const Json before = {{"request_range",
                          {{"key", to_base64(prefix_)},
                           {"range_end", to_base64(after_prefix_)},
                           {"max_create_revision", std::to_string(mine - 1)},
                           {"sort_order", "DESCEND"},
                           {"sort_target", "CREATE"},
                           {"limit", "1"}}}};
    const Json own = {{"request_range", {{"key", to_base64(session.key)}}}};
    try {
      const Answer answer = client_->ask("/v3/kv/txn", {{"success", {before, own}}},
                                         std::min(question.deadline, client_->limit()), both.get_token());
      const Json& responses = answer.body.at("responses");
      session.node = answer.node;
      if (number_at(responses.at(1).at("response_range"), "count") == 0) {
        session.ended.request_stop();
        return false;
      }
      const Json& found = responses.at(0).at("response_range");
      if (!found.contains("kvs")) return true;  // "count" counts later keys, too
      client_->wait_for_deletion(found.at("kvs").at(0).value("key", ""),
                                 number_at(answer.body.at("header"), "revision") + 1, question.deadline,
                                 both.get_token());
    } catch (const Error& error) {
      // Whoever waits goes on as long as his lease is kept alive.
      if (error.kind() != Error::Kind::unavailable) throw;
    }
    return false;
  }

  Grant granted(const std::shared_ptr<Session>& session, std::int64_t mine) {
    session->granted = true;
    return {.acquisition = session->acquisition,
            .node = session->node,
            .sent_at = session->sent_at,
            .valid_until = session->end,
            .token = static_cast<std::uint64_t>(mine),
            .kept_by = session};
  }

  // [parks] Until the lease is over, or its user has had enough.
  void keep(Session& session, const std::stop_token& stop) {
    const int most =
        options().lock.renew ? options().lock.max_renewals.value_or(std::numeric_limits<int>::max()) : 0;
    const auto over = [&](std::string_view why) {
      session.ended.request_stop();
      lose(session.acquisition, why);
    };
    Wakeup wakeup(runtime());
    MonotonicTime due = runtime().now() + session.ttl / 3;
    for (int renewals = 0;;) {
      const bool renew = !session.granted || renewals < most;
      wakeup.wait_until(renew ? std::min(due, session.end) : session.end, stop);
      if (stop.stop_requested()) return;
      if (runtime().now() >= session.end) return over("its lease ran out");
      if (session.granted && renewals >= most) continue;  // granted meanwhile
      const bool counts = session.granted;
      if (counts) tell({.kind = LockEvent::Kind::renewing, .acquisition = session.acquisition});
      try {
        const Answer answer = client_->ask("/v3/lease/keepalive", {{"ID", session.lease}},
                                           std::min(session.end, client_->limit()), stop);
        if (stop.stop_requested()) return;
        const std::chrono::seconds ttl(number_at(answer.body, "TTL"));
        if (ttl.count() <= 0) return over("the server has no such lease any more");
        if (runtime().now() >= session.end) return over("its lease ran out");
        session.sent_at = answer.sent_at;
        session.end = lease_end(answer.sent_at, ttl);
        renewed(session.acquisition, answer.sent_at, session.end, answer.node);
        if (counts) ++renewals;
        due = runtime().now() + session.ttl / 3;
      } catch (const Error& error) {
        if (stop.stop_requested()) return;
        if (error.kind() == Error::Kind::not_found) return over(error.what());
        if (counts) {
          tell({.kind = LockEvent::Kind::renew_failed,
                .acquisition = session.acquisition,
                .node = error.node(),
                .reason = error.what()});
        }
        due = runtime().now() + session.ttl / 10;
      }
    }
  }

  // [parks] The key goes with its lease. False: it was gone already. Throws Error.
  bool revoke(Session& session, MonotonicTime deadline) {
    try {
      client_->ask("/v3/lease/revoke", {{"ID", session.lease}}, deadline);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::not_found) throw;
      return error.may_have_executed();  // by an earlier attempt
    }
    return true;
  }

  // [parks] The queue; if nobody can be told, the lease ends by itself.
  void leave(Session& session) {
    session.stop.request_stop();
    session.keeper = Task();  // joined
    try {
      revoke(session, client_->limit());
    } catch (const Error&) {
    }
  }

  void give_back(Grant& grant) override {
    const auto session = std::static_pointer_cast<Session>(std::exchange(grant.kept_by, nullptr));
    session->stop.request_stop();
    session->keeper = Task();  // joined
    try {
      if (!revoke(*session, client_->limit())) fail<LockLost>("its lease ran out", grant.node, false);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::refused) fail<Rejected>(error.what(), error.node(), false);
      fail<Unavailable>(error.what(), error.node(), error.may_have_executed());
    }
  }

  const std::shared_ptr<Client> client_;
  const std::string prefix_, after_prefix_;
};

}  // namespace

std::unique_ptr<LockSpace> lease_locks(const LockSpaceOptions& options) {
  auto client = std::make_shared<Client>(options.client.runtime(), options.doors, options.connect_timeout,
                                         options.command_timeout);
  return keyed([options, client = std::move(client)](const std::string& key) {
    return std::make_shared<EtcdLock>(options, key, client);
  });
}

}  // namespace holdfast::sim::etcd
