#include "sim/truth/truth.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "checker/checks/truth.h"
#include "sim/redis/engine.h"

namespace holdfast::sim {

using checker::Event;
using checker::Symbol;
using embedded::Engine;
using embedded::KeyspaceWitness;

class Truth::NodeWitness final : public KeyspaceWitness {
 public:
  NodeWitness(Truth& truth, std::string node) : truth_(truth), node_(std::move(node)) {}

  void changed(Engine& engine, std::string_view key, Cause cause) override {
    static constexpr std::string_view kCauses[] = {checker::kByCommand, checker::kByReplication,
                                                   checker::kByExpiry};
    if (const auto lock = truth_.decoder_.lock_of(key)) {
      compare(engine, *lock, kCauses[static_cast<std::size_t>(cause)]);
    }
  }

  void loaded(Engine& engine) override {
    standing_.clear();
    if (truth_.recorder_ != nullptr) tell_keyspace();
    std::vector<std::string> locks;
    for (const embedded::Entry* entry : engine.db(0).sorted()) {
      if (auto lock = truth_.decoder_.lock_of(*entry->key)) locks.push_back(std::move(*lock));
    }
    for (const std::string& lock : locks) compare(engine, lock, checker::kByLoading);
  }

  void begin() {
    tell_keyspace();
    for (auto& [lock, standing] : standing_) {
      for (Standing& one : standing) {
        one.id = name_of(lock, one.holding.owner);
        tell_stands(lock, one, checker::kByLoading);
      }
    }
  }

 private:
  struct Standing {
    Holding holding;
    std::int64_t until_ns;
    Symbol id;
  };

  void compare(Engine& engine, const std::string& lock, std::string_view cause) {
    std::vector<Standing>& before = standing_[lock];
    std::vector<Standing> now;
    for (Holding& holding : truth_.decoder_.decode(engine.db(0), lock)) {
      now.push_back({std::move(holding), 0, 0});
      now.back().until_ns = in_world_time(engine, now.back().holding.until_ms);
    }
    for (const Standing& one : before) {
      if (find(now, one.holding.owner) == nullptr) tell_gone(lock, one, cause);
    }
    for (Standing& one : now) {
      const Standing* const known = find(before, one.holding.owner);
      // Who is granted it once more may do so for another acquisition. A command that finds the old record
      // expired removes it first, and is told once.
      const bool over = known != nullptr && cause == checker::kByCommand && is_over(engine, known->holding);
      const bool again = known == nullptr || over || one.holding.depth > known->holding.depth;
      one.id = again ? name_of(lock, one.holding.owner, known) : known->id;
      if (known != nullptr && known->id == one.id && known->holding == one.holding) {
        one.until_ns = known->until_ns;
        continue;
      }
      if (known != nullptr && known->id != one.id) {
        tell_gone(lock, *known, over ? checker::kByExpiry : cause);
      }
      tell_stands(lock, one, cause);
    }
    before = std::move(now);
  }

  static const Standing* find(const std::vector<Standing>& among, const std::string& owner) {
    const auto found = std::find_if(among.begin(), among.end(),
                                    [&](const Standing& one) { return one.holding.owner == owner; });
    return found == among.end() ? nullptr : &*found;
  }

  static bool is_over(Engine& engine, const Holding& holding) {
    const auto now = engine.runtime().wall_now().time_since_epoch();
    return holding.until_ms <= std::chrono::floor<std::chrono::milliseconds>(now).count();
  }

  std::int64_t in_world_time(Engine& engine, std::int64_t wall_ms) const {
    if (wall_ms == std::numeric_limits<std::int64_t>::max()) return checker::kForever;
    const std::int64_t wall_ns =
        std::chrono::nanoseconds(engine.runtime().wall_now().time_since_epoch()).count();
    return truth_.world_.now_ns() + wall_ms * 1'000'000 - wall_ns;
  }

  // The acquisition of whom it stands for now. Of an owner that no command named: the name as it stands
  // there.
  Symbol name_of(const std::string& lock, const std::string& owner, const Standing* known = nullptr) const {
    if (truth_.recorder_ == nullptr) return 0;
    if (truth_.decoder_.of_process) {
      const std::string_view process = truth_.recorder_->process_of(owner);
      return truth_.recorder_->history().intern(
          checker::record_of_process(process.empty() ? owner : process, lock));
    }
    const Symbol id = truth_.recorder_->acquisition(owner);
    if (id != 0) return id;
    return known != nullptr ? known->id : truth_.recorder_->history().intern(owner);
  }

  Event event(std::string_view name, std::string_view by) const {
    checker::History& history = truth_.recorder_->history();
    Event told;
    told.type = checker::EventType::info;
    told.f = checker::Function::other;
    told.error = history.intern(name);
    told.process = history.intern(std::string(by) + "/" + node_);
    told.node = history.intern(node_);
    return told;
  }
  void tell_keyspace() const {
    Event told = event(checker::kKeyspace, checker::kByLoading);
    if (truth_.quorum_) told.mode = truth_.recorder_->history().intern(checker::kOfAQuorum);
    if (truth_.decoder_.of_process) told.mode = truth_.recorder_->history().intern(checker::kOfAProcess);
    if (truth_.decoder_.free_permits) told.mode = truth_.recorder_->history().intern(checker::kOfFreePermits);
    truth_.recorder_->append(told);
  }
  void tell_stands(const std::string& lock, const Standing& one, std::string_view by) const {
    if (truth_.recorder_ == nullptr) return;
    Event told = event(checker::kRecord, by);
    told.key = truth_.recorder_->history().intern(lock);
    told.id = one.id;
    told.value = checker::Value(1);
    if (one.holding.shared && one.holding.permits == 0)
      told.mode = truth_.recorder_->history().intern("read");
    told.permits = one.holding.permits;
    if (!one.holding.party.empty()) told.owner = truth_.recorder_->history().intern(one.holding.party);
    if (one.until_ns != checker::kForever) told.valid_until_ns = one.until_ns;
    truth_.recorder_->append(told);
  }
  void tell_gone(const std::string& lock, const Standing& one, std::string_view by) const {
    if (truth_.recorder_ == nullptr) return;
    Event told = event(checker::kRecord, by);
    told.key = truth_.recorder_->history().intern(lock);
    told.id = one.id;
    told.value = checker::Value(0);
    truth_.recorder_->append(told);
  }

  Truth& truth_;
  const std::string node_;
  std::map<std::string, std::vector<Standing>> standing_;  // by lock
};

Truth::Truth(World& world, const Decoder& decoder, bool quorum)
    : world_(world), decoder_(decoder), quorum_(quorum) {}
Truth::~Truth() = default;

KeyspaceWitness* Truth::witness(const std::string& node) {
  std::unique_ptr<NodeWitness>& witness = nodes_[node];
  if (!witness) witness = std::make_unique<NodeWitness>(*this, node);
  return witness.get();
}

void Truth::keep(Recorder& recorder) {
  recorder_ = &recorder;
  for (const auto& [name, witness] : nodes_) witness->begin();
}

}  // namespace holdfast::sim
