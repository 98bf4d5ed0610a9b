// What the files with rows of lock kinds share: making a space, and reading commands off the wire.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/reply.h"
#include "lib/redis/script.h"
#include "sim/client/lock_kind.h"
#include "sim/historic/redisson/redisson.h"

namespace holdfast::sim {

// The rows of each file, in the order of `holdfast list locks`.
std::vector<LockKind> hardened_lock_kinds();
std::vector<LockKind> composite_lock_kinds();
std::vector<LockKind> historic_lock_kinds();
std::vector<LockKind> historic_redisson_kinds();
std::vector<LockKind> historic_redisson_family_kinds();

// As the client that Redisson makes: it knows how many replicas each primary has.
std::shared_ptr<historic::Redisson> make_redisson(
    const LockSpaceOptions& options, historic::RedissonRenewals::Persistence persistence =
                                         historic::RedissonRenewals::Persistence::stops_at_failure);

// What a survivor is asked for: its members, and how far clocks may disagree.
LockOptions survivor_options(const LockSpaceOptions& options);
// That is a tenth of a lease.
Duration survivor_skew(Duration lease);

// Several locks as one.
using JoinLocks = std::function<std::shared_ptr<Lock>(std::vector<std::shared_ptr<Lock>> members)>;
// The space of the kind `multi`: each of its locks is the reentrant locks "<key>:a" and "<key>:b", joined.
std::unique_ptr<LockSpace> make_pairs(const LockSpaceOptions& options, JoinLocks join);

using Command = std::vector<std::string_view>;
using Strings = std::vector<std::string_view>;

// A space whose locks are made by `make` when their key is first asked for. They go before its captures.
class KeyedSpace : public LockSpace {
 public:
  using Make = std::function<std::shared_ptr<Lock>(const std::string& key)>;
  explicit KeyedSpace(Make make) : make_(std::move(make)) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override {
    std::shared_ptr<Lock>& lock = locks_[key];
    if (!lock) lock = make_(key);
    return lock;
  }

 private:
  const Make make_;
  std::map<std::string, std::shared_ptr<Lock>> locks_;
};

inline std::unique_ptr<LockSpace> keyed(KeyedSpace::Make make) {
  return std::make_unique<KeyedSpace>(std::move(make));
}

// `word` is the command `upper`, in whatever case it was sent.
bool is(std::string_view word, std::string_view upper);
struct ScriptCall {
  Strings keys, args;
};

// The keys and arguments when `command` runs `script`, by its digest or by its text.
bool calls(const Command& command, const redis::Script& script, ScriptCall& call);

bool is_one(const redis::Reply& reply);
bool is_ok(const redis::Reply& reply);

StoreEffect effect(checker::Function f, std::string_view key, std::string_view record, bool took_effect);

}  // namespace holdfast::sim
