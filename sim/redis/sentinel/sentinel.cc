#include "sim/redis/sentinel/sentinel.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kChannel = "__sentinel__:hello";
constexpr std::size_t kMostPending = 100;
constexpr std::int64_t kInfoInTroubleMs = 1000;  // of replicas, while their primary is down
constexpr std::int64_t kReconnectMs = 15'000;    // a connection that young is not suspected
constexpr std::int64_t kTiltTriggerMs = 2000, kTiltMs = 30'000;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(at)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

bool read_endpoint(std::string_view host, std::string_view port, Endpoint& into) {
  std::int64_t number = 0;
  if (host.empty() || !parse_integer(port, number) || number < 1 || number > 65535) return false;
  into = {std::string(host), static_cast<std::uint16_t>(number)};
  return true;
}

}  // namespace

Sentinel::Sentinel(Runtime& runtime, Network& network, Engine& engine, SentinelOptions options,
                   SentinelLink::Start start)
    : runtime_(runtime),
      network_(network),
      engine_(engine),
      options_(std::move(options)),
      start_(std::move(start)),
      memory_(options_.memory == nullptr ? unkept_ : *options_.memory) {
  if (memory_.id.empty()) {
    memory_.id = random_hex(runtime_);
    memory_.primary = options_.primary;
  }
  primary_ = make(SentinelRole::primary, memory_.primary);
  for (const Endpoint& at : memory_.replicas) replicas_[at] = make(SentinelRole::replica, at);
  for (const auto& [id, at] : memory_.sentinels) {
    sentinels_[id] = make(SentinelRole::sentinel, at);
    sentinels_[id]->run_id = id;
  }
  last_tick_ms_ = now_ms();
}

Sentinel::~Sentinel() = default;

std::int64_t Sentinel::now_ms() const { return engine_.wall_ms(); }

std::string Sentinel::describe(const Instance& one) const {
  const auto address = [](const Endpoint& at) { return at.host + ' ' + std::to_string(at.port); };
  const std::string& name = options_.primary_name;
  if (one.role == SentinelRole::primary) return "master " + name + ' ' + address(one.at);
  const std::string own = one.role == SentinelRole::replica ? one.at.to_string() : one.run_id;
  return (one.role == SentinelRole::replica ? "slave " : "sentinel ") + own + ' ' + address(one.at) + " @ " +
         name + ' ' + address(primary_->at);
}

void Sentinel::event(std::string_view type, const std::string& text) {
  engine_.pubsub().publish(engine_, type, text, false);
  engine_.finish_batch();
}

void Sentinel::event(std::string_view type, const Instance& about, const std::string& more) {
  event(type, describe(about) + more);
}

// What a real one writes to its file.
void Sentinel::remember() {
  memory_.primary = primary_->at;
  memory_.replicas.clear();
  for (const auto& [at, replica] : replicas_) memory_.replicas.insert(at);
  memory_.sentinels.clear();
  for (const auto& [id, sentinel] : sentinels_) memory_.sentinels[id] = sentinel->at;
}

// --- connections -----------------------------------------------------------------------------------------

Sentinel::InstancePtr Sentinel::make(SentinelRole role, const Endpoint& at) {
  auto one = std::make_shared<Instance>();
  one->role = role;
  one->at = at;
  const std::int64_t now = now_ms();
  one->available_ms = one->unanswered_ms = one->ponged_ms = one->heard_ms = now;
  one->says_so_since_ms = one->follows_since_ms = now;
  one->says_replica = role == SentinelRole::replica;
  one->commands = std::make_shared<SentinelLink>(runtime_, network_, at, start_, [] {});
  if (role == SentinelRole::sentinel) return one;
  one->listens = std::make_shared<SentinelLink>(
      runtime_, network_, at, start_, [] {},
      [this, weak = std::weak_ptr(one)](const redis::Reply& message) {
        const InstancePtr from = weak.lock();
        if (from == nullptr) return;
        from->heard_ms = now_ms();
        if (message.items[0].text == "message") heard_greeting(message.items[2].text);
      });
  return one;
}

void Sentinel::forget(Instance& one) {
  one.commands->close();
  if (one.listens) one.listens->close();
}

void Sentinel::stop() {
  stopped_ = true;
  forget(*primary_);
  for (const auto& [at, replica] : replicas_) forget(*replica);
  for (const auto& [id, sentinel] : sentinels_) forget(*sentinel);
}

void Sentinel::reconnect(const InstancePtr& one) {
  const std::int64_t now = now_ms();
  if (now - one->reconnected_ms < options_.periods.ping) return;
  if (one->commands->broken() || (one->listens && one->listens->broken())) one->reconnected_ms = now;
  if (one->commands->broken()) {
    one->commands->open();
    one->commands->opened_ms = now;
    ping(one);
  }
  if (one->listens && one->listens->broken()) {
    one->listens->open();
    one->listens->opened_ms = one->heard_ms = now;
    one->listens->send({"SUBSCRIBE", kChannel});
  }
}

// --- asking ----------------------------------------------------------------------------------------------

std::int64_t Sentinel::next_tick_in_ms() {
  return 1000 / static_cast<std::int64_t>(runtime_.random_between(10, 19));
}

void Sentinel::tick() {
  const std::int64_t now = now_ms();
  const std::int64_t passed = now - last_tick_ms_;
  last_tick_ms_ = now;
  if (passed < 0 || passed > kTiltTriggerMs) {
    tilt_ms_ = now;
    event("+tilt", "#tilt mode entered");
  }
  look_after(primary_);
  const auto replicas = replicas_;  // a switch makes others
  for (const auto& [at, replica] : replicas) {
    const auto still = replicas_.find(at);
    if (still != replicas_.end() && still->second == replica) look_after(replica);
  }
  const auto sentinels = sentinels_;
  for (const auto& [id, sentinel] : sentinels) {
    if (sentinels_.contains(id)) look_after(sentinel);
  }
  if (state_ == Failover::done) switch_to(promoted_->at);
}

void Sentinel::look_after(const InstancePtr& one) {
  if (stopped_) return;
  reconnect(one);
  ask_regularly(one);
  if (tilt_ms_ != 0) {
    if (now_ms() - tilt_ms_ < kTiltMs) return;
    tilt_ms_ = 0;
    event("-tilt", "#tilt mode exited");
  }
  judge_down(*one);
  if (one != primary_) return;
  judge_agreed_down();
  if (failover_is_due()) {
    begin_failover();
    ask_others(true);
  }
  advance_failover();
  ask_others(false);
}

std::int64_t Sentinel::ping_period() const { return std::min(options_.down_after_ms, options_.periods.ping); }

void Sentinel::ask_regularly(const InstancePtr& one) {
  if (one->unlinked() || one->commands->pending() >= kMostPending) return;
  const std::int64_t now = now_ms();
  const bool in_trouble = one->role == SentinelRole::replica &&
                          (agreed_down_ || state_ != Failover::none || one->link_down_for_ms != 0);
  const std::int64_t info_period = in_trouble ? kInfoInTroubleMs : options_.periods.info;
  if (one->role != SentinelRole::sentinel && (one->told_ms == 0 || now - one->told_ms > info_period)) {
    one->commands->send({"INFO"}, [this, weak = std::weak_ptr(one)](const redis::Reply& reply) {
      const InstancePtr from = weak.lock();
      if (from != nullptr && reply.is_string()) heard_info(from, reply.text);
    });
  }
  if (now - one->ponged_ms > ping_period() && now - one->pinged_ms > ping_period() / 2) ping(one);
  if (now - one->greeted_ms > options_.periods.publish) greet(one);
}

void Sentinel::ping(const InstancePtr& one) {
  const std::int64_t now = now_ms();
  one->pinged_ms = now;
  if (one->unanswered_ms == 0) one->unanswered_ms = now;
  one->commands->send({"PING"}, [this, weak = std::weak_ptr(one)](const redis::Reply& reply) {
    const InstancePtr from = weak.lock();
    if (from == nullptr) return;
    from->ponged_ms = now_ms();
    const std::string code = reply.error_code();
    if (reply.text != "PONG" && code != "LOADING" && code != "MASTERDOWN") return;
    from->available_ms = from->ponged_ms;
    from->unanswered_ms = 0;
  });
}

void Sentinel::greet(const InstancePtr& one) {
  const Endpoint primary = primary_address();
  const std::string text = options_.announced.host + ',' + std::to_string(options_.announced.port) + ',' +
                           memory_.id + ',' + std::to_string(memory_.current_epoch) + ',' +
                           options_.primary_name + ',' + primary.host + ',' + std::to_string(primary.port) +
                           ',' + std::to_string(memory_.config_epoch);
  one->greeted_ms = now_ms();
  one->commands->send({"PUBLISH", kChannel, text});
}

// --- hearing ---------------------------------------------------------------------------------------------

void Sentinel::heard_info(const InstancePtr& one, const std::string& text) {
  const std::int64_t now = now_ms();
  one->told_ms = now;
  one->link_down_for_ms = 0;
  bool says_replica = one->says_replica;
  Endpoint follows;
  std::string_view host;
  std::vector<Endpoint> replicas;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon), value = line.substr(colon + 1);
    std::int64_t number = 0;
    parse_integer(value, number);
    if (name == "run_id") {
      if (!one->run_id.empty() && one->run_id != value) event("+reboot", *one);
      one->run_id = value;
    } else if (name == "role") {
      says_replica = value == "slave";
    } else if (name == "master_host") {
      host = value;
    } else if (name == "master_port") {
      read_endpoint(host, value, follows);
    } else if (name == "master_link_status") {
      one->link_up = value == "up";
    } else if (name == "master_link_down_since_seconds") {
      one->link_down_for_ms = number * 1000;
    } else if (name == "slave_priority") {
      one->priority = number;
    } else if (name == "slave_repl_offset") {
      one->offset = number;
    } else if (name.starts_with("slave") && value.starts_with("ip=")) {
      const std::vector<std::string_view> parts = split(value, ',');
      Endpoint at;
      if (parts.size() > 1 && parts[1].starts_with("port=") &&
          read_endpoint(parts[0].substr(3), parts[1].substr(5), at))
        replicas.push_back(at);
    }
  }
  if (says_replica && follows != one->follows) {
    one->follows = follows;
    one->follows_since_ms = now;
  }
  if (says_replica != one->says_replica) {
    one->says_replica = says_replica;
    one->says_so_since_ms = now;
    if (says_replica) one->follows_since_ms = now;
    const bool as_known = says_replica == (one->role == SentinelRole::replica);
    event(as_known ? "+role-change" : "-role-change", *one,
          std::string(" new reported role is ") + (says_replica ? "slave" : "master"));
  }
  if (one->role == SentinelRole::primary && !says_replica) {
    for (const Endpoint& at : replicas) add_replica(at, true);
  }
  if (tilt_ms_ != 0 || one->role != SentinelRole::replica) return;

  if (!says_replica) {
    if (one == promoted_ && state_ == Failover::awaits_promotion) {
      memory_.config_epoch = failover_epoch_;
      event("+promoted-slave", *one);
      enter(Failover::turns_replicas, "+failover-state-reconf-slaves", *primary_);
      const std::int64_t due = now - options_.periods.publish - 1;  // tell everybody at once
      primary_->greeted_ms = due;
      for (const auto& [at, replica] : replicas_) replica->greeted_ms = due;
      for (const auto& [id, sentinel] : sentinels_) sentinel->greeted_ms = due;
    } else if (!one->promoted && primary_is_sane()) {
      const std::int64_t wait = options_.periods.publish * 4;
      if (one->fine_for(wait, now) && now - one->says_so_since_ms > wait) {
        follow(*one, &primary_->at);
        event("+convert-to-slave", *one);
      }
    }
    return;
  }
  if (one->follows != primary_->at && primary_is_sane() && one->turn == Instance::Turn::none &&
      one->fine_for(options_.failover_timeout_ms, now) &&
      now - one->follows_since_ms > options_.failover_timeout_ms) {
    follow(*one, &primary_->at);
    event("+fix-slave-config", *one);
  }
  if (promoted_ == nullptr) return;
  if (one->turn == Instance::Turn::sent && one->follows == promoted_->at) {
    one->turn = Instance::Turn::under_way;
    event("+slave-reconf-inprog", *one);
  }
  if (one->turn == Instance::Turn::under_way && one->link_up) {
    one->turn = Instance::Turn::done;
    event("+slave-reconf-done", *one);
  }
}

void Sentinel::add_replica(const Endpoint& at, bool found) {
  if (replicas_.contains(at) || at == primary_->at) return;
  replicas_[at] = make(SentinelRole::replica, at);
  if (found) remember();
  event("+slave", *replicas_[at]);
}

// "ip,port,id,epoch,primary's name,ip,port,its configuration's epoch"
void Sentinel::heard_greeting(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  Endpoint from, primary;
  std::int64_t epoch = 0, config_epoch = 0;
  if (parts.size() != 8 || parts[4] != options_.primary_name || parts[2] == memory_.id ||
      !read_endpoint(parts[0], parts[1], from) || !read_endpoint(parts[5], parts[6], primary) ||
      !parse_integer(parts[3], epoch) || !parse_integer(parts[7], config_epoch))
    return;
  const std::string id(parts[2]);
  const auto known = sentinels_.find(id);
  if (known == sentinels_.end() || known->second->at != from) {
    for (auto it = sentinels_.begin(); it != sentinels_.end();) {
      if (it->first != id && it->second->at != from) {
        ++it;
        continue;
      }
      forget(*it->second);
      event("-dup-sentinel", *it->second);
      it = sentinels_.erase(it);
    }
    const InstancePtr added = make(SentinelRole::sentinel, from);
    added->run_id = id;
    sentinels_[id] = added;
    event("+sentinel", *added);
    remember();
  }
  const InstancePtr sentinel = sentinels_[id];
  sentinel->heard_ms = now_ms();
  if (epoch > memory_.current_epoch) {
    memory_.current_epoch = epoch;
    event("+new-epoch", std::to_string(epoch));
  }
  if (config_epoch <= memory_.config_epoch) return;
  memory_.config_epoch = config_epoch;
  if (primary == primary_->at) return;
  event("+config-update-from", *sentinel);
  switch_to(primary);
}

// --- judging ---------------------------------------------------------------------------------------------

void Sentinel::judge_down(Instance& one) {
  const std::int64_t now = now_ms();
  std::int64_t silent = 0;
  if (one.unanswered_ms != 0) {
    silent = now - one.unanswered_ms;
  } else if (one.unlinked()) {
    silent = now - one.available_ms;
  }
  const std::int64_t half = options_.down_after_ms / 2;
  if (!one.unlinked() && now - one.commands->opened_ms > kReconnectMs && one.unanswered_ms != 0 &&
      now - one.unanswered_ms > half && now - one.ponged_ms > half) {
    one.commands->close();
  }
  if (one.listens && !one.listens->broken() && now - one.listens->opened_ms > kReconnectMs &&
      now - one.heard_ms > options_.periods.publish * 3) {
    one.listens->close();
  }
  const bool wrong_role = one.role == SentinelRole::primary && one.says_replica &&
                          now - one.says_so_since_ms > options_.down_after_ms + 2 * options_.periods.info;
  const bool down = silent > options_.down_after_ms || wrong_role;
  if (down == one.down) return;
  one.down = down;
  if (down) one.down_ms = now;
  event(down ? "+sdown" : "-sdown", one);
}

void Sentinel::judge_agreed_down() {
  std::int64_t agree = 0;
  if (primary_->down) {
    agree = 1 + std::count_if(sentinels_.begin(), sentinels_.end(),
                              [](const auto& entry) { return entry.second->says_down; });
  }
  const bool down = agree >= options_.quorum && primary_->down;
  if (down == agreed_down_) return;
  agreed_down_ = down;
  if (!down) return event("-odown", *primary_);
  primary_->agreed_down_ms = now_ms();
  event("+odown", *primary_, " #quorum " + std::to_string(agree) + '/' + std::to_string(options_.quorum));
}

bool Sentinel::primary_is_sane() const {
  return !primary_->says_replica && !primary_->down && !agreed_down_ &&
         now_ms() - primary_->told_ms < options_.periods.info * 2;
}

// --- acting ----------------------------------------------------------------------------------------------

// As one transaction that also throws its clients out, so that they look for the primary anew.
void Sentinel::follow(Instance& one, const Endpoint* primary) {
  if (one.unlinked()) return;
  SentinelLink& to = *one.commands;
  to.send({"MULTI"});
  if (primary == nullptr) {
    to.send({"SLAVEOF", "NO", "ONE"});
  } else {
    to.send({"SLAVEOF", primary->host, std::to_string(primary->port)});
  }
  to.send({"CONFIG", "REWRITE"});
  to.send({"CLIENT", "KILL", "TYPE", "normal"});
  to.send({"CLIENT", "KILL", "TYPE", "pubsub"});
  to.send({"EXEC"});
}

Endpoint Sentinel::primary_address() const {
  return promoted_ != nullptr && state_ >= Failover::turns_replicas ? promoted_->at : primary_->at;
}

void Sentinel::switch_to(const Endpoint& at) {
  const InstancePtr old = primary_;
  const auto address = [](const Endpoint& of) { return of.host + ' ' + std::to_string(of.port); };
  event("+switch-master", options_.primary_name + ' ' + address(old->at) + ' ' + address(at));
  std::vector<Endpoint> others = {old->at};
  for (const auto& [its, replica] : replicas_) {
    forget(*replica);
    if (its != at) others.push_back(its);
  }
  forget(*old);
  replicas_.clear();
  primary_ = make(SentinelRole::primary, at);
  agreed_down_ = false;
  state_ = Failover::none;
  forced_ = false;
  promoted_ = nullptr;
  leader_.clear();
  failover_ms_ = 0;
  for (const auto& [id, sentinel] : sentinels_) {
    sentinel->says_down = false;
    sentinel->voted_for.clear();
  }
  std::sort(others.begin(), others.end());
  for (const Endpoint& other : others) add_replica(other, false);
  remember();
}

}  // namespace holdfast::sim::embedded
