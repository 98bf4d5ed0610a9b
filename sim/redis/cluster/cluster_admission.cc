// Who takes a command: this node, another one (MOVED, ASK), or nobody. As getNodeByQuery() of redis-server
// 7.0.
#include "sim/redis/cluster/cluster.h"

#include "lib/redis/hash_slot.h"
#include "sim/redis/command_keys.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kUnbound = "CLUSTERDOWN Hash slot not served";
constexpr std::string_view kDown = "CLUSTERDOWN The cluster is down";
constexpr std::string_view kCross = "CROSSSLOT Keys in request don't hash to the same slot";
constexpr std::string_view kUnstable = "TRYAGAIN Multiple keys request during rehashing of slot";

bool is_sharded(const CommandSpec& spec) {
  return spec.name == "spublish" || spec.name == "ssubscribe" || spec.name == "sunsubscribe";
}

}  // namespace

bool Cluster::has_key(std::string_view key) {
  const Entry* const entry = engine_.db(0).find(key);
  return entry != nullptr && (entry->expires_at == kNoExpiry || entry->expires_at > now_ms());
}

Cluster::Placed Cluster::place(Session& session, const CommandSpec& spec, Args argv, bool writes) {
  std::optional<std::size_t> slot;
  Peer* owner = nullptr;
  bool several_keys = false, migrating = false, importing = false;
  std::string first_key, error;
  std::size_t missing = 0, present = 0;
  const bool sharded = is_sharded(spec);
  std::vector<KeyUse> uses;
  const auto look_at = [&](const CommandSpec& of, Args words) {
    uses.clear();
    if (!error.empty() || !may_have_keys(of) || !keys_of(of, words, uses)) return;
    for (const KeyUse& use : uses) {
      const std::string_view key = words[use.at];
      const std::size_t here = redis::hash_slot(key);
      if (!slot) {
        slot = here;
        first_key = key;
        owner = owners_[here];
        if (owner == nullptr) {
          error = kUnbound;
          return;
        }
        migrating = owner == own_ && migrating_.contains(here);
        importing = owner != own_ && importing_.contains(here);
      } else if (*slot != here) {
        error = kCross;
        return;
      } else if (!several_keys && key != first_key) {
        several_keys = true;
      }
      if ((migrating || importing) && !sharded) ++(has_key(key) ? present : missing);
    }
  };
  if (spec.name == "exec") {
    if (!session.in_multi) return {own_};
    session.queue.for_each(look_at);
  } else {
    look_at(spec, argv);
  }
  if (!error.empty()) return {nullptr, error};
  if (!slot) return {own_};
  if (!well_) return {nullptr, std::string(kDown)};
  const auto redirect = [&](std::string_view code, const Peer& to) {
    return Placed{nullptr, std::string(code) + ' ' + std::to_string(*slot) + ' ' + to.at.to_string()};
  };
  if ((migrating || importing) && spec.name == "migrate") return {own_};
  if (migrating && missing > 0) {
    if (present > 0) return {nullptr, std::string(kUnstable)};
    return redirect("ASK", *migrating_.at(*slot));
  }
  if (importing && (session.asking || spec.name == "restore-asking")) {
    if (several_keys && missing > 0) return {nullptr, std::string(kUnstable)};
    return {own_};
  }
  if ((session.reads_replica || sharded) && !writes && !own_->primary && own_->follows == owner->id)
    return {own_};
  if (owner != own_) return redirect("MOVED", *owner);
  return {own_};
}

std::string Cluster::refuse(Session& session, const CommandSpec& spec, Args argv, bool writes) {
  return place(session, spec, argv, writes).error;
}

std::string Cluster::refuse_blocked(const Session& session, const CommandSpec& waiting) {
  if (!well_) return std::string(kDown);
  const std::size_t slot = redis::hash_slot(session.waited_for().front());
  const Peer* const owner = owners_[slot];
  const bool reads_here = session.reads_replica && (waiting.flags & kWrite) == 0 && !own_->primary &&
                          owner != nullptr && own_->follows == owner->id;
  if (owner == own_ || reads_here || importing_.contains(slot)) return {};
  if (owner == nullptr) return std::string(kUnbound);
  return "MOVED " + std::to_string(slot) + ' ' + owner->at.to_string();
}

std::string Cluster::refuse_in_script(Session& caller, const CommandSpec& spec, Args argv, bool writes) {
  const std::string error = place(caller, spec, argv, writes).error;
  if (error.empty()) return {};
  if (error == kDown) return "ERR Script attempted to execute a command while the cluster is down";
  return "ERR Script attempted to access a non local key in a cluster node";
}

}  // namespace holdfast::sim::embedded
