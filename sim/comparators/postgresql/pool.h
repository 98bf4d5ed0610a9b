// Pool: the sessions of one client process that nobody uses now, as an application keeps them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/comparators/postgresql/session.h"

namespace holdfast::sim::postgresql {

class Pool {
 public:
  // `patience`: with each statement.
  Pool(Runtime& runtime, SessionOptions options, Duration patience)
      : runtime_(runtime), options_(std::move(options)), patience_(patience) {}
  explicit Pool(const LockSpaceOptions& options)
      : Pool(options.client.runtime(),
             {.nodes = options.doors,
              .application = options.client_name,
              .connect_timeout = options.connect_timeout},
             options.command_timeout) {}

  // [parks] One that lives, or a new one: asks all nodes for the primary, again and again until `limit`.
  // Throws Error.
  std::shared_ptr<Session> take(MonotonicTime limit) {
    while (!idle_.empty()) {
      std::shared_ptr<Session> session = std::move(idle_.back());
      idle_.pop_back();
      if (session->alive()) return session;
    }
    for (;;) {
      try {
        return Session::connect(runtime_, options_);
      } catch (const Error&) {
        if (runtime_.now() >= limit) throw;
      }
      runtime_.sleep_for(std::chrono::milliseconds(20));
    }
  }
  // For the next one. REQUIRES: nothing is under way in it, no transaction, no lock.
  void give(std::shared_ptr<Session> session) {
    session->when_it_ends(nullptr);
    if (session->alive()) idle_.push_back(std::move(session));
  }

  Runtime& runtime() const { return runtime_; }
  // The end of the patience with a statement that is sent now.
  MonotonicTime limit() const { return deadline_after(runtime_.now(), patience_); }

 private:
  Runtime& runtime_;
  const SessionOptions options_;
  const Duration patience_;
  std::vector<std::shared_ptr<Session>> idle_;
};

}  // namespace holdfast::sim::postgresql
