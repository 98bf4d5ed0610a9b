// The recipe for locks of ZooKeeper's documentation. Whoever wants the lock makes an ephemeral sequential
// node below the lock's; the lowest holds it, everybody else watches the one before his. The name has an id
// of the acquisition, by which a node is found again whose making was not answered. The transaction that made
// the node (its czxid) is the token: they only rise, and are agreed on.
//
// Each hold has a session to itself. The client knows of its end when servers say so, and of no time until
// which it may be sure: valid_until() is empty. Cut off, it is told when it is connected again, not before.
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/client/lock_kind_rows.h"
#include "sim/comparators/foreign_lock.h"
#include "sim/comparators/zookeeper/session.h"
#include "sim/comparators/zookeeper/zookeeper.h"

namespace holdfast::sim::zookeeper {
namespace {

constexpr std::chrono::seconds kSessionTimeout{4};
constexpr std::chrono::milliseconds kPause{20};  // before something is asked again
constexpr std::string_view kRoot = "/holdfast";

// The sessions of one client process that nobody uses now.
class Pool {
 public:
  explicit Pool(const LockSpaceOptions& options)
      : runtime_(options.client.runtime()),
        options_{.nodes = options.doors, .timeout = kSessionTimeout},
        patience_(options.command_timeout) {}

  // [parks] One that has a connection, old or new. Throws Error.
  std::shared_ptr<Session> take(MonotonicTime limit) {
    while (!idle_.empty()) {
      std::shared_ptr<Session> session = std::move(idle_.back());
      idle_.pop_back();
      if (session->alive() && session->wait_connected(limit)) return session;
      if (runtime_.now() >= limit) break;
    }
    auto session = std::make_shared<Session>(runtime_, options_);
    if (!session->wait_connected(limit)) throw Error("no connection in time", ZOPERATIONTIMEOUT);
    return session;
  }
  // For the next one. REQUIRES: it has no node.
  void give(std::shared_ptr<Session> session) {
    session->when_it_ends(nullptr);
    if (session->alive()) idle_.push_back(std::move(session));
  }
  MonotonicTime limit() const { return deadline_after(runtime_.now(), patience_); }

 private:
  Runtime& runtime_;
  const SessionOptions options_;
  const Duration patience_;
  std::vector<std::shared_ptr<Session>> idle_;
};

// A session and the node that it has made.
struct Place {
  std::shared_ptr<Session> session;
  std::string name = {};     // of the node, below the lock's
  std::int64_t created = 0;  // by which transaction
  bool doubtful = false;     // there may be another one, of a request that was never answered
};

std::string sequence_of(const std::string& name) {
  return name.substr(name.size() - std::min<std::size_t>(name.size(), 10));
}

class RecipeLock final : public ForeignLock {
 public:
  RecipeLock(const LockSpaceOptions& options, const std::string& key, std::shared_ptr<Pool> pool)
      : ForeignLock(options, key), pool_(std::move(pool)), folder_(std::string(kRoot) + "/" + as_name(key)) {}
  ~RecipeLock() override { forget_holds(); }

 private:
  static std::string as_name(const std::string& key) {
    std::string name;
    for (const char c : key) name += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
    return name;
  }

  std::optional<Grant> ask(const Question& question) override {
    for (bool told = false;;) {
      Place place;
      try {
        place.session = pool_->take(pool_->limit());
        const std::string acquisition = new_acquisition();
        enter(place, acquisition);
        bool first = is_first(place);
        while (!first && question.waits) {
          if (!std::exchange(told, true)) waiting();
          const bool changed = place.session->wait_for_change(question.deadline, question.stop);
          first = is_first(place);
          if (!first && !changed) break;
        }
        if (first && !question.stop.stop_requested()) return granted(place, acquisition);
        leave(place);
      } catch (const Error& error) {
        const std::string node = place.session ? place.session->node() : "";
        const bool lives = place.session && place.session->alive();
        // With it its nodes go: at once, or when the servers have not heard of it for its timeout.
        if (lives) place.session->close();
        if (question.stop.stop_requested()) fail<Interrupted>("the wait was stopped", node, false);
        const bool patient = question.waits && runtime().now() < question.deadline;
        if (error.code() == ZSESSIONEXPIRED && patient) continue;  // a new place, at the end
        if (!error.unknown() && error.code() != ZSESSIONEXPIRED) fail<Rejected>(error.what(), node, false);
        fail<Unavailable>(error.what(), node, true);
      }
      if (question.stop.stop_requested())
        fail<Interrupted>("the wait was stopped", place.session->node(), false);
      return std::nullopt;
    }
  }

  // [parks] Again and again while the connection is lost, as long as the patience is; `act` is told whether
  // it was tried before. Throws Error.
  template <class Act>
  void insist(Session& session, const Act& act) {
    const MonotonicTime limit = pool_->limit();
    for (bool again = false;; again = true) {
      try {
        return act(limit, again);
      } catch (const Error& error) {
        if (!error.unknown() || runtime().now() >= limit) throw;
      }
      runtime().sleep_for(kPause);
      if (!session.wait_connected(limit) && session.alive())
        throw Error("no connection in time", ZOPERATIONTIMEOUT);
    }
  }

  // [parks] Makes the node, and what it lies below.
  void enter(Place& place, const std::string& acquisition) {
    insist(*place.session, [&](MonotonicTime limit, bool again) {
      if (again) {
        place.doubtful = true;
        if (find(place, acquisition, limit)) return;
      }
      try {
        make(place, acquisition, limit);
      } catch (const Error& error) {
        if (error.code() != ZNONODE) throw;
        for (const std::string& above : {std::string(kRoot), folder_}) {
          try {
            place.session->create(above, ZOO_PERSISTENT, limit);
          } catch (const Error& problem) {
            if (problem.code() != ZNODEEXISTS) throw;
          }
        }
        make(place, acquisition, limit);
      }
    });
  }
  void make(Place& place, const std::string& acquisition, MonotonicTime limit) {
    const Answer made =
        place.session->create(folder_ + "/" + acquisition + "-", ZOO_EPHEMERAL | ZOO_SEQUENCE, limit);
    place.name = made.path.substr(folder_.size() + 1);
    place.created = made.created;
  }
  // By the id in its name.
  bool find(Place& place, const std::string& acquisition, MonotonicTime limit) {
    std::vector<std::string> names;
    try {
      names = place.session->children(folder_, limit).names;
    } catch (const Error& error) {
      if (error.code() != ZNONODE) throw;
    }
    for (const std::string& name : names) {
      if (!name.starts_with(acquisition)) continue;
      const auto found = place.session->exists_and_watch(folder_ + "/" + name, limit);
      if (!found) continue;
      place.name = name;
      place.created = found->created;
      return true;
    }
    return false;
  }

  // [parks] Else the one before is watched. Throws Error, with ZSESSIONEXPIRED when the node is gone.
  bool is_first(Place& place) {
    bool first = false;
    insist(*place.session, [&](MonotonicTime limit, bool) {
      for (;;) {
        const std::vector<std::string> names = place.session->children(folder_, limit).names;
        if (std::find(names.begin(), names.end(), place.name) == names.end())
          throw Error("the node is gone", ZSESSIONEXPIRED);
        std::string before;
        for (const std::string& name : names) {
          if (sequence_of(name) < sequence_of(place.name) && sequence_of(name) >= sequence_of(before))
            before = name;
        }
        first = before.empty();
        if (first || place.session->exists_and_watch(folder_ + "/" + before, limit)) return;
      }
    });
    return first;
  }

  Grant granted(const Place& place, const std::string& acquisition) {
    if (!place.session->alive()) throw Error("the session ended with its grant", ZSESSIONEXPIRED);
    place.session->when_it_ends(
        [this, acquisition](const std::string& why) { lose(acquisition, "its session ended: " + why); });
    return {.acquisition = acquisition,
            .node = place.session->node(),
            .token = static_cast<std::uint64_t>(place.created),
            .kept_by = std::make_shared<Place>(place)};
  }

  // [parks] Throws Error. False: the node was gone already.
  bool remove(Place& place) {
    bool held = true;
    insist(*place.session, [&](MonotonicTime limit, bool again) {
      try {
        place.session->remove(folder_ + "/" + place.name, limit);
      } catch (const Error& error) {
        if (error.code() != ZNONODE) throw;
        held = again;  // by an attempt that was not answered
      }
    });
    return held;
  }

  // [parks] The queue.
  void leave(Place& place) {
    if (!remove(place) || place.doubtful) return place.session->close();
    pool_->give(place.session);
  }

  void give_back(Grant& grant) override {
    const auto place = std::static_pointer_cast<Place>(std::exchange(grant.kept_by, nullptr));
    place->session->when_it_ends(nullptr);
    bool held = false;
    try {
      held = remove(*place);
    } catch (const Error& error) {
      const bool expired = error.code() == ZSESSIONEXPIRED;
      if (!expired) place->session->close();
      if (expired) fail<LockLost>("its session ended", grant.node, false);
      if (!error.unknown()) fail<Rejected>(error.what(), grant.node, false);
      fail<Unavailable>(error.what(), grant.node, true);
    }
    if (place->doubtful || !held) {
      place->session->close();
    } else {
      pool_->give(place->session);
    }
    if (!held) fail<LockLost>("its node is gone", grant.node, false);
  }

  const std::shared_ptr<Pool> pool_;
  const std::string folder_;
};

}  // namespace

std::unique_ptr<LockSpace> recipe_locks(const LockSpaceOptions& options) {
  return keyed([options, pool = std::make_shared<Pool>(options)](const std::string& key) {
    return std::make_shared<RecipeLock>(options, key, pool);
  });
}

}  // namespace holdfast::sim::zookeeper
