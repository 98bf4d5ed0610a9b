// SurvivorStore: one replicated set whose grants survive a failover, a restart and a split brain: survivor.h.
//
// A grant or a renewal is four commands in one round trip on a connection that nobody else uses: the lock's
// script with the guard around it, who the replicas are, WAIT, and a last look: the same primary, none
// joined, the record still there. Grants that are asked for at once share the second and the third
// (group_commit.h). Replicas that joined lately do not count. Who has looked at the primary for a while knows
// which these are, and sees in the last look who of the others has acknowledged (replica_watch.h). Who has
// not asks CLIENT LIST for the ages of the links; it does not say whose they are, nor does WAIT, so a second
// round trip asks for as many acknowledgements more as there are young links.
//
// After what Redis says of WAIT (https://redis.io/docs/latest/commands/wait/): acknowledgements alone do not
// make it consistent. tools/model/survivor.pml is the model of these rules.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/api/survivor.h"
#include "lib/lock/store/client_store.h"
#include "lib/lock/store/group_commit.h"
#include "lib/lock/store/replica_watch.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

// The name of the mark: the same for all locks of a set.
inline constexpr std::string_view kSurvivorMark = "holdfast:survivor";

// How long a server that is new in its role grants nothing: as survivor_guard.lua reckons it.
Duration quarantine_of(const SurvivorOptions& options);
// As they stand in the mark and go with each call.
std::string survivor_constants(const SurvivorOptions& options);

class SurvivorStore : public ClientStore {
 public:
  // `client` outlives it. Throws std::invalid_argument: a client of a Cluster, or one of a node that is no
  // member.
  static std::unique_ptr<Store> make(redis::Client& client, const LockOptions& options);
  // REQUIRES: what make() looks at.
  SurvivorStore(redis::Client& client, const LockOptions& options);

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override;
  std::optional<redis::Answer> set_if_absent(std::string_view, std::string_view, std::string_view,
                                             const redis::CallOptions&) override {
    return std::nullopt;
  }
  Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                const redis::CallOptions& options) override;

 protected:
  enum class Purpose { acquire, renew, look };
  struct Replicas {
    std::size_t connected = 0;
    std::size_t young = 0;  // of these
    std::size_t acknowledged = 0;
    std::size_t known_acknowledged = 0;  // of those that are known to be old
  };
  // The rules, one by one, so that a test can weaken each and show that it is needed.
  // How many replicas have to acknowledge. A renewal may count on those who joined lately: its claim goes on
  // only where no other began.
  virtual std::size_t needed(Purpose purpose, const Replicas& replicas) const;
  // Nothing was missed between the first look and the last one.
  virtual bool same_stint(const Stint& first, const Stint& last) const { return first == last; }
  virtual bool is_member(std::string_view node) const;
  // How many, of what is sent with WAIT.
  virtual std::size_t waits_for(Purpose purpose) const;

  const std::size_t majority_;  // of the members, without the server itself

 private:
  struct Call {
    const redis::Script& script;
    redis::Arguments keys, args;
    Purpose purpose;
  };
  struct Round;
  // Which question says how old the replicas are.
  enum class Ages { listed, watched };

  // `does`, until enough members have it, and `look`, which says item by item whether it still stands.
  redis::Answer acknowledged(const Call& does, const Call& look, const redis::CallOptions& options);
  // Acknowledged::by_lag: the guard has looked who of the replicas is there. Or the server is the only
  // member: what it says while it is the same primary stands, for nobody else can be promoted, and whoever
  // joins it is a stranger. Nothing to wait for, and nothing to look at again.
  redis::Answer trusted(const Call& does, const redis::CallOptions& options);
  // What is sent with WAIT: for how many, and for how long.
  struct Awaited {
    std::size_t replicas = 0;
    Duration timeout{};
  };
  // [parks] One round trip: `first`, who the replicas are, WAIT for `awaited`, and a last look.
  // `first_sent`: when the write that they acknowledge was sent, if in another round.
  Round ask(const Call& first, const Awaited& awaited, const Call& look, Ages ages,
            std::optional<MonotonicTime> first_sent, const redis::CallOptions& options);
  bool enough(Purpose purpose, const Replicas& replicas) const;
  // How many replicas are known to have followed the primary for so long.
  std::size_t watched(Duration for_long);
  // How long from now on a refusal stands, for a caller whose acquire would count then.
  void when_to_look_again(std::vector<redis::Reply>& refusal, const Round& round);
  // How long replicas are waited for in the first round: as long as they usually take.
  Duration usual_wait();
  Command command(const Call& call, std::string_view count, bool by_text) const;
  // Throws redis::Error: it does not count, though it may stand on the server.
  [[noreturn]] void give_up(std::string_view node, const std::string& why) const;

  const std::vector<std::string> members_;
  const Duration quarantine_;
  const Duration replica_timeout_;
  const std::string constants_;
  const bool by_lag_;
  // After a failure the next server may be another one, which does not know the scripts: they are sent
  // whole, as it would say so only after the WAIT behind them, which nobody there may answer.
  std::atomic<bool> by_text_ = false;
  const std::shared_ptr<GroupCommit> grants_;
  Mutex mutex_;  // of:
  ReplicaWatch watch_;
  MonotonicTime next_look_{};
  Duration last_took_{};  // what was sent last, until enough had acknowledged it
};

}  // namespace holdfast
