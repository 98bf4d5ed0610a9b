#include "sim/replay/recording.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "checker/checks/truth.h"
#include "checker/history/effects.h"
#include "checker/story/text_layout.h"
#include "lib/runtime/check.h"
#include "sim/client/recorder.h"
#include "sim/proxy/proxy.h"
#include "sim/redis/engine.h"
#include "sim/redis/keyspace_witness.h"
#include "sim/replay/beliefs.h"
#include "sim/replay/short_form.h"
#include "sim/replay/shown_record.h"

namespace holdfast::sim {

using embedded::Engine;
using embedded::KeyspaceWitness;

// Of one node, for all its incarnations.
class Recording::NodeWitness final : public KeyspaceWitness {
 public:
  NodeWitness(Recording& recording, std::size_t server, ClusterNode* node)
      : recording_(recording), server_(server), node_(node) {}

  void pass_on_to(KeyspaceWitness* also) { also_ = also; }

  void changed(Engine& engine, std::string_view key, Cause cause) override {
    meet(engine);
    static constexpr std::string_view kCauses[] = {checker::kByCommand, checker::kByReplication,
                                                   checker::kByExpiry};
    tell(engine, std::string(key), kCauses[static_cast<std::size_t>(cause)]);
    if (also_ != nullptr) also_->changed(engine, key, cause);
  }

  void loaded(Engine& engine) override {
    meet(engine);
    std::set<std::string> keys;
    keys.swap(keys_);
    for (const embedded::Entry* const entry : engine.db(0).sorted()) keys.insert(*entry->key);
    for (const std::string& key : keys) tell(engine, key, checker::kByLoading);
    if (also_ != nullptr) also_->loaded(engine);
  }

  Replay::Server standing() const {
    Replay::Server now{.server = server_};
    if (engine_ == nullptr || !node_->running() || node_->incarnation() != incarnation_) return now;
    now.standing = engine_->loads()        ? Replay::Standing::loading
                   : engine_->is_replica() ? Replay::Standing::replica
                                           : Replay::Standing::primary;
    now.clock_ns = std::chrono::nanoseconds(engine_->runtime().wall_now().time_since_epoch()).count() -
                   recording_.now_ns();
    return now;
  }

 private:
  void meet(Engine& engine) {
    engine_ = &engine;
    incarnation_ = node_->incarnation();
    recording_.look_at_servers();
  }

  void tell(Engine& engine, const std::string& key, std::string_view by) {
    if (recording_.full()) return;
    const embedded::Entry* const entry = engine.db(0).find(key);
    if (!keys_.contains(key)) {
      if (entry == nullptr) return;
      if (keys_.size() == recording_.options_.most_keys) {
        ++recording_.replay_.keys_left_out;
        return;
      }
      keys_.insert(key);
    }
    Replay::Record record;
    if (entry != nullptr) {
      record = shown_record(*entry, recording_.options_.most_elements,
                            [this](std::string_view text) { return recording_.owner(text); });
    } else {
      keys_.erase(key);
    }
    record.server = server_;
    record.key = checker::printable(key);
    record.by = by;
    recording_.replay_.records.push_back(std::move(record));
    recording_.add(Replay::Kind::record, recording_.replay_.records.size() - 1);
  }

  Recording& recording_;
  const std::size_t server_;
  ClusterNode* const node_;
  KeyspaceWitness* also_ = nullptr;
  Engine* engine_ = nullptr;  // good while the node runs in that incarnation
  std::uint64_t incarnation_ = 0;
  std::set<std::string> keys_;  // that were told
};

Recording::Recording(const ReplayOptions& options) : options_(options) {}
Recording::~Recording() = default;

void Recording::begins(World& world, Proxy& proxy, Cluster& cluster) {
  world_ = &world;
  for (const auto& node : cluster.nodes()) {
    witnesses_.push_back(std::make_unique<NodeWitness>(*this, replay_.servers.size(), node.get()));
    standings_.push_back({.server = replay_.servers.size()});
    replay_.servers.push_back(node->name());
  }
  for (const auto& sentinel : cluster.sentinels()) replay_.servers.push_back(sentinel->name());
  replay_.sentinels = cluster.sentinels().size();
  proxy.watch_passages(*this);
}

KeyspaceWitness* Recording::witness(const std::string& node, KeyspaceWitness* also) {
  const auto found = std::find(replay_.servers.begin(), replay_.servers.end(), node);
  HF_CHECK(found != replay_.servers.end(), "a server of the cluster");
  NodeWitness& witness = *witnesses_[static_cast<std::size_t>(found - replay_.servers.begin())];
  witness.pass_on_to(also);
  return &witness;
}

void Recording::records(Recorder& recorder) { recorder_ = &recorder; }

bool Recording::full() {
  if (over_ || replay_.cut_ns) return true;
  if (seen_.size() < options_.most_steps) return false;
  replay_.cut_ns = now_ns();
  return true;
}

void Recording::add(Replay::Kind kind, std::size_t at) {
  seen_.push_back({.step = {.at_ns = now_ns(), .kind = kind, .at = static_cast<std::uint32_t>(at)},
                   .events = recorder_ == nullptr ? 0 : recorder_->history().events().size()});
}

void Recording::look_at_servers() {
  if (full()) return;
  for (const auto& witness : witnesses_) {
    Replay::Server now = witness->standing();
    Replay::Server& before = standings_[now.server];
    if (now.standing == Replay::Standing::down) now.clock_ns = before.clock_ns;  // as it stopped
    const bool clock = std::abs(now.clock_ns - before.clock_ns) >= 1'000'000;    // TTLs are milliseconds
    if (now.standing == before.standing && !clock) continue;
    before = now;
    replay_.standings.push_back(now);
    add(Replay::Kind::server, replay_.standings.size() - 1);
  }
}

// "OWNER" and "OWNER write" name an acquisition.
std::string Recording::owner(std::string_view text) const {
  if (recorder_ == nullptr) return "";
  checker::Symbol id = recorder_->acquisition(text);
  if (id == 0) id = recorder_->acquisition(text.substr(0, text.find(' ')));
  if (id != 0) return std::string(recorder_->history().text(id));
  return std::string(recorder_->process_of(text));
}

void Recording::came(const Passage& passage) {
  look_at_servers();
  if (full()) return;
  ShortForm form = short_form(passage, [this](std::string_view text) { return owner(text); });
  replay_.messages.push_back({.from = passage.link.from,
                              .to = passage.link.to,
                              .direction = passage.direction,
                              .replication = passage.link.replication,
                              .connection = passage.link.connection,
                              .text = std::move(form.text),
                              .bytes = passage.bytes.size(),
                              .meant = passage.kind,
                              .delay_ns = passage.delay.count(),
                              .routine = form.routine});
  under_way_[passage.number] = replay_.messages.size() - 1;
  add(Replay::Kind::came, replay_.messages.size() - 1);
}

void Recording::went(std::uint64_t number, Fate fate) {
  look_at_servers();
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return;
  const std::size_t message = found->second;
  under_way_.erase(found);
  if (full()) return;
  replay_.messages[message].fate = fate;
  add(Replay::Kind::went, message);
}

std::uint64_t Recording::draws(const std::string& stream, std::uint64_t number, const Drawn& drawn) {
  Drawn settled = drawn;
  bool fixed = false;
  if (const auto of_stream = options_.changes.fixed.find(stream); of_stream != options_.changes.fixed.end()) {
    const auto value = of_stream->second.find(number);
    fixed = value != of_stream->second.end();
    if (fixed) settled.value = std::clamp(value->second, drawn.low, drawn.high);
  }
  if (!full()) {
    replay_.drawings.push_back({.stream = stream, .number = number, .drawn = settled, .fixed = fixed});
    add(Replay::Kind::drawn, replay_.drawings.size() - 1);
  }
  return settled.value;
}

// A server is looked at with the next thing that happens; where the history tells of its new role, it is told
// there. The step, by its place from `from` on.
std::optional<std::size_t> Recording::change_of_role(const checker::History& history,
                                                     const checker::Event& event, std::size_t from) const {
  checker::Effect effect{};
  if (!checker::effect_of(history, event, effect)) return std::nullopt;
  if (effect != checker::Effect::promoted && effect != checker::Effect::demoted) return std::nullopt;
  const auto role =
      effect == checker::Effect::promoted ? Replay::Standing::primary : Replay::Standing::replica;
  for (std::size_t i = from; i < seen_.size(); ++i) {
    if (seen_[i].step.kind != Replay::Kind::server) continue;
    const Replay::Server& standing = replay_.standings[seen_[i].step.at];
    if (replay_.servers[standing.server] != history.text(event.node)) continue;
    return standing.standing == role ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

Replay Recording::finish(const checker::History& history) {
  const auto& events = history.events();
  const std::int64_t start_ns = events.empty() ? 0 : events.front().time_ns;
  // What was told before its turn; and of what was set up, messages that have arrived.
  std::set<std::size_t> done;
  std::set<std::uint32_t> arrived;
  for (const Seen& seen : seen_) {
    if (seen.step.at_ns < start_ns && seen.step.kind == Replay::Kind::went) arrived.insert(seen.step.at);
  }
  Beliefs beliefs(history, replay_);
  const auto put = [&](Replay::Step step, std::int64_t at_ns) {
    step.at_ns = std::max<std::int64_t>(0, at_ns - start_ns);
    replay_.steps.push_back(step);
  };
  std::size_t next = 0;
  const auto tell_until = [&](std::size_t end, std::size_t from) {
    for (; next < std::min(end, events.size()); ++next) {
      const std::int64_t at_ns = events[next].time_ns;
      if (replay_.cut_ns && at_ns > *replay_.cut_ns) return;
      beliefs.take(next, at_ns - start_ns);
      const auto role = change_of_role(history, events[next], from);
      if (role && done.insert(*role).second) put(seen_[*role].step, at_ns);
    }
  };
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    tell_until(seen_[i].events, i);
    const Replay::Step& step = seen_[i].step;
    const bool of_message = step.kind == Replay::Kind::came || step.kind == Replay::Kind::went;
    if (step.at_ns < start_ns && step.kind == Replay::Kind::drawn) continue;
    if ((of_message && arrived.contains(step.at)) || done.contains(i)) continue;
    put(step, step.at_ns);
  }
  tell_until(events.size(), seen_.size());
  if (replay_.cut_ns) *replay_.cut_ns -= start_ns;
  for (Replay::Server& standing : replay_.standings) standing.clock_ns += start_ns;
  for (const Replay::Step& step : replay_.steps) replay_.end_ns = std::max(replay_.end_ns, step.at_ns);
  return std::move(replay_);
}

}  // namespace holdfast::sim
