#include "sim/watched/watcher.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "sim/proxy/resp_parse.h"
#include "sim/proxy/transaction.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

constexpr std::string_view kUnknownAnswer = "an answer that no pattern knows";
constexpr std::string_view kNotArrived = "the answer did not arrive";

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view hole(const Filled& filled, std::string_view name) {
  const auto found = filled.find(name);
  return found == filled.end() ? std::string_view() : found->second;
}

std::optional<Duration> lease_of(const LockPattern& pattern, const Filled& filled) {
  constexpr std::int64_t kMost = 1'000'000'000'000;  // ms
  std::int64_t ms = 0;
  if (const std::string_view text = hole(filled, "lease"); !text.empty()) {
    ms = number(text);
  } else if (const std::string_view seconds = hole(filled, "lease_s"); !seconds.empty()) {
    ms = std::clamp<std::int64_t>(number(seconds), 0, kMost / 1000) * 1000;
  } else {
    return pattern.lease;
  }
  return std::chrono::milliseconds(std::clamp<std::int64_t>(ms, 0, kMost));
}

Vote vote(const LockPattern& pattern, const redis::Reply& answer) {
  if (pattern.says_done(answer)) return Vote::yes;
  return pattern.says_refused(answer) || answer.is_error() ? Vote::no : Vote::unclear;
}

// It comes again, as EVAL.
bool is_unknown_script(const redis::Reply& reply) {
  return reply.is_error() && reply.text.starts_with("NOSCRIPT");
}

bool is_queued(const redis::Reply& reply) {
  return reply.type == redis::Reply::Type::status && reply.text == "QUEUED";
}

// EVAL, EVALSHA, FCALL and their _RO forms: what is called, and with what.
bool take_call(const Words& words, WatchedCommand& command) {
  static constexpr std::string_view kCalls[] = {"EVAL",       "EVALSHA", "EVAL_RO",
                                                "EVALSHA_RO", "FCALL",   "FCALL_RO"};
  if (words.size() < 3 || std::ranges::find(kCalls, upper_case(words[0])) == std::end(kCalls)) return false;
  const std::int64_t count = number(words[2]);
  if (count < 0 || static_cast<std::size_t>(count) > words.size() - 3) return false;
  command.calls_script = true;
  command.keys.assign(words.begin() + 3, words.begin() + 3 + count);
  command.args.assign(words.begin() + 3 + count, words.end());
  return true;
}

}  // namespace

Watcher::Watcher(Recorder& recorder, Recogniser recogniser, std::size_t servers)
    : recorder_(recorder),
      recogniser_(std::move(recogniser)),
      servers_(servers),
      votes_(recogniser_.majority && servers > 1) {}

void Watcher::see(const Message& message) {
  if (message.exchange == 0 || message.link.replication) return;
  if (message.direction == Direction::request) {
    requested(message);
  } else {
    answered(message);
  }
}

std::string Watcher::script_of(const WatchedCommand& command) {
  const std::string name = upper_case(command.words[0]);
  const std::string_view what = command.words[1];
  if (name.starts_with("FCALL")) return squeezed(what);
  if (!name.starts_with("EVALSHA")) {
    return scripts_.try_emplace(embedded::sha1_hex(what), squeezed(what)).first->second;
  }
  std::string digest(what);
  std::ranges::transform(digest, digest.begin(), [](char c) { return c >= 'A' && c <= 'F' ? c + 32 : c; });
  const auto known = scripts_.find(digest);
  return known == scripts_.end() ? std::string() : known->second;
}

void Watcher::requested(const Message& message) {
  if (message.command != "EXEC") return sent(message, message.arguments, 0);
  each_queued(message.bytes, [&](const Words& words, std::size_t index) { sent(message, words, index); });
}

void Watcher::sent(const Message& message, const Words& words, std::size_t index) {
  WatchedCommand command{.words = words};
  if (command.words.empty()) return;
  if (command.words.size() == 3 && upper_case(command.words[0]) == "SCRIPT" &&
      upper_case(command.words[1]) == "LOAD") {
    scripts_.try_emplace(embedded::sha1_hex(command.words[2]), squeezed(command.words[2]));
    return;
  }
  std::string script;
  if (take_call(words, command)) {
    script = script_of(command);
    command.script = script;
    if (script.empty()) {
      unread_calls_.insert(message.exchange);
      return;
    }
  }
  for (const LockPattern& pattern : recogniser_.patterns) {
    const std::optional<Filled> filled = pattern.match(command);
    if (!filled) continue;
    Asked asked{
        .pattern = &pattern,
        .who = {message.link.from, std::string(hole(*filled, "key")), std::string(hole(*filled, "owner"))},
        .at_ns = recorder_.world().now_ns(),
        .lease = lease_of(pattern, *filled),
        .index = index};
    auto& [client, key, owner] = asked.who;
    if (owner.empty() && pattern.does != LockPattern::Does::acquire) {  // whoever asked last
      owner = clients_[client].last_owner[key];
    }
    if (pattern.does == LockPattern::Does::acquire) asks(asked, *filled);
    if (pattern.does == LockPattern::Does::release) releases(asked);
    if (const auto round = rounds_.find(asked.who); round != rounds_.end()) {
      asked.round = round->second.number;
      ++round->second.in_flight;
      if (votes_) asked.attempt = ballot(round->second, pattern.does).asks(message.link.to, asked.at_ns);
    }
    asked_[message.exchange].push_back(std::move(asked));
    return;
  }
}

void Watcher::asks(Asked& asked, const Filled& filled) {
  const auto& [client, key, owner] = asked.who;
  Client& of_client = clients_[client];
  ++of_client.understood;
  of_client.last_owner[key] = owner;
  auto at = rounds_.find(asked.who);
  if (at != rounds_.end() && at->second.releasing) {
    rounds_.erase(at);  // it gave up; the name of that thread is not used again
    at = rounds_.end();
  } else if (at != rounds_.end() && !at->second.waits) {
    asked.held = at->second.until_ns == checker::kAbsent || asked.at_ns < at->second.until_ns;
    if (asked.held) return;
    given_up_.push_back(lost(*at));
    end(at);
    at = rounds_.end();
  }
  if (at != rounds_.end()) return;  // it goes on waiting
  // Another name, drawn for another attempt of a thread that waits.
  for (auto other = rounds_.lower_bound({client, key, ""});
       other != rounds_.end() && std::get<0>(other->first) == client && std::get<1>(other->first) == key;
       ++other) {
    if (!other->second.waits || undecided(other->second)) continue;
    auto node = rounds_.extract(other);
    node.key() = asked.who;
    node.mapped().acquire = Ballot(servers_);
    rounds_.insert(std::move(node));
    return;
  }
  Round round{.slot = free_slot(of_client),
              .number = ++rounds_so_far_,
              .acquire = Ballot(servers_),
              .shared = asked.pattern->shared,
              .permits = static_cast<std::uint32_t>(
                  std::clamp<std::int64_t>(number(hole(filled, "permits")), 0, 1 << 30))};
  if (const std::string_view limit = hole(filled, "limit"); !limit.empty() && limits_[key] != number(limit)) {
    limits_[key] = number(limit);
    recorder_.permits(key, static_cast<int>(std::clamp<std::int64_t>(number(limit), 0, 1 << 30)));
    round.permits = std::max<std::uint32_t>(round.permits, 1);
  }
  at = rounds_.emplace(asked.who, round).first;
  recorder_.append(event(EventType::invoke, Function::acquire, at->first, at->second));
  publish(RunEventKind::lock_requested, at->first, "");
}

void Watcher::releases(Asked& asked) {
  const auto at = rounds_.find(asked.who);
  if (at == rounds_.end() || at->second.waits) return;
  Round& round = at->second;
  if (round.depth > 1) {
    --round.depth;
    asked.held = true;
    return;
  }
  asked.ends = true;
  ++round.releases;
  if (std::exchange(round.releasing, true)) return;  // once more
  recorder_.append(event(EventType::invoke, Function::release, at->first, round));
  publish(RunEventKind::lock_releasing, at->first, round.id);
}

void Watcher::answered(const Message& message) {
  const redis::Reply& reply = *message.reply;
  if (unread_calls_.erase(message.exchange) > 0 && !is_unknown_script(reply)) ++unread_;
  const bool ends = message.command == "EXEC" || message.command == "DISCARD";
  if (!asked_.contains(message.exchange) && !is_queued(reply) &&
      !(ends && queued_.contains(message.link.connection))) {
    return;
  }
  answers_[message.exchange] = {.command = std::string(message.command),
                                .node = message.link.to,
                                .connection = message.link.connection,
                                .reply = reply};
}

void Watcher::became(std::uint64_t exchange, Fate fate) {
  const auto found = answers_.extract(exchange);
  if (found.empty()) return;
  std::vector<Asked> asked;
  if (auto its = asked_.extract(exchange); !its.empty()) asked = std::move(its.mapped());
  arrived(found.mapped(), std::move(asked), fate == Fate::delivered);
}

void Watcher::arrived(const Answer& answer, std::vector<Asked> asked, bool delivered) {
  const redis::Reply& reply = answer.reply;
  const auto each = [&](const Asked& one, const redis::Reply* its) {
    if (delivered) {
      settle(one, its, answer.node);
    } else {
      undelivered(one, its, answer.node);
    }
  };
  if (answer.command == "EXEC" || answer.command == "DISCARD") {
    if (auto queued = queued_.extract(answer.connection); !queued.empty()) {
      std::ranges::move(queued.mapped().asked, std::back_inserter(asked));
    }
    for (const Asked& one : asked) {
      each(one, one.index < reply.items.size() ? &reply.items[one.index] : nullptr);
    }
  } else if (is_queued(reply)) {
    Transaction& transaction = queued_[answer.connection];
    for (Asked& one : asked) {
      one.index = transaction.commands;
      transaction.asked.push_back(std::move(one));
    }
    ++transaction.commands;
  } else {
    for (const Asked& one : asked) each(one, is_unknown_script(reply) ? nullptr : &reply);
  }
}

void Watcher::settle(const Asked& asked, const redis::Reply* answer, std::string_view node) {
  const auto at = rounds_.find(asked.who);
  if (at == rounds_.end() || at->second.number != asked.round) return;
  Round& round = at->second;
  --round.in_flight;
  if (asked.ends) --round.releases;
  if (votes_) return settle_by_votes(asked, at, answer, node);
  const bool releases = asked.pattern->does == LockPattern::Does::release;
  if (answer == nullptr || (releases && answer->is_error())) {
    if (releases && asked.held) ++round.depth;
    return;
  }
  if (releases) {
    if (!asked.ends) return;
    const bool done = asked.pattern->says_done(*answer);
    if (done || round.releases == 0) settle_release(at, done, asked.pattern->says_refused(*answer));
  } else if (round.waits) {
    if (asked.pattern->does == LockPattern::Does::acquire) {
      settle_acquire(asked, at, vote(*asked.pattern, *answer), node);
    }
  } else if (!round.releasing && asked.pattern->says_done(*answer)) {
    if (asked.held && recogniser_.counts) ++round.depth;
    if (asked.lease) renewed(asked, at);
  }
}

// `answer` as settle() has it; its client never read it.
void Watcher::undelivered(const Asked& asked, const redis::Reply* answer, std::string_view node) {
  const auto at = rounds_.find(asked.who);
  if (at == rounds_.end() || at->second.number != asked.round) return;
  Round& round = at->second;
  --round.in_flight;
  if (asked.ends) --round.releases;
  if (votes_) return ballot(round, asked.pattern->does).takes_back(node, asked.attempt);
  if (answer == nullptr) return;
  if (asked.pattern->does == LockPattern::Does::release) {
    if (asked.ends && round.releases == 0) no_outcome(at, Function::release, kNotArrived);
  } else if (round.waits && asked.pattern->does == LockPattern::Does::acquire &&
             vote(*asked.pattern, *answer) != Vote::no) {
    no_outcome(at, Function::acquire, kNotArrived);
  }
}

// Nobody knows whether it happened; the name of its thread is not used again.
void Watcher::no_outcome(Rounds::iterator at, Function f, std::string_view why) {
  Event unknown = event(EventType::info, f, at->first, at->second);
  unknown.error = recorder_.history().intern(why);
  recorder_.append(unknown);
  rounds_.erase(at);
}

void Watcher::settle_by_votes(Asked asked, Rounds::iterator at, const redis::Reply* answer,
                              std::string_view node) {
  Round& round = at->second;
  Ballot& votes = ballot(round, asked.pattern->does);
  if (answer == nullptr) return votes.takes_back(node, asked.attempt);
  const Ballot::Outcome outcome = votes.counts(node, asked.attempt, vote(*asked.pattern, *answer));
  if (outcome == Ballot::Outcome::open) return;
  const bool yes = outcome == Ballot::Outcome::yes, no = outcome == Ballot::Outcome::no;
  asked.at_ns = votes.asked_first_ns();
  if (asked.pattern->does == LockPattern::Does::release) {
    if (asked.ends) settle_release(at, yes, no);
  } else if (!round.waits) {
    if (yes && asked.lease && !round.releasing) renewed(asked, at);
  } else if (asked.pattern->does == LockPattern::Does::acquire) {
    const bool late = asked.lease && asked.at_ns + asked.lease->count() <= recorder_.world().now_ns();
    settle_acquire(asked, at, yes && !late ? Vote::yes : yes || no ? Vote::no : Vote::unclear, node);
  }
}

Ballot& Watcher::ballot(Round& round, LockPattern::Does does) {
  return does == LockPattern::Does::acquire  ? round.acquire
         : does == LockPattern::Does::extend ? round.extend
                                             : round.release;
}

bool Watcher::undecided(const Round& round) const {
  return votes_ ? !round.acquire.decided() : round.in_flight > 0;
}

void Watcher::settle_acquire(const Asked& asked, Rounds::iterator at, Vote answer, std::string_view node) {
  Round& round = at->second;
  if (answer == Vote::yes) return granted(asked, at, node);
  if (answer == Vote::no) {
    if (!std::exchange(round.told_waiting, true)) publish(RunEventKind::lock_waiting, at->first, "");
    return;
  }
  no_outcome(at, Function::acquire, kUnknownAnswer);
}

void Watcher::settle_release(Rounds::iterator at, bool done, bool refused) {
  if (!done && !refused) return no_outcome(at, Function::release, kUnknownAnswer);
  Event over = event(done ? EventType::ok : EventType::fail, Function::release, at->first, at->second);
  if (!done) over.error = recorder_.history().intern("not-owner");
  recorder_.append(over);
  const Who who = at->first;
  const std::string id = at->second.id;
  end(at);
  if (done) publish(RunEventKind::lock_released, who, id);
}

void Watcher::renewed(const Asked& asked, Rounds::iterator at) {
  Round& round = at->second;
  round.until_ns = std::max(round.until_ns, asked.at_ns + asked.lease->count());
  Event renewal = event(EventType::invoke, Function::renew, at->first, round);
  recorder_.append(renewal);
  renewal.type = EventType::ok;
  renewal.valid_until_ns = round.until_ns;
  recorder_.append(renewal);
  publish(RunEventKind::lock_renewed, at->first, round.id);
}

void Watcher::granted(const Asked& asked, Rounds::iterator at, std::string_view node) {
  Round& round = at->second;
  const std::string& client = std::get<0>(at->first);
  round.waits = false;
  round.extend = round.release = Ballot(servers_);
  round.id = client + "-" + std::to_string(++clients_[client].acquisitions);
  round.since_ns = recorder_.world().now_ns();
  if (asked.lease) round.until_ns = asked.at_ns + asked.lease->count();
  Event grant = event(EventType::ok, Function::acquire, at->first, round);
  grant.valid_until_ns = round.until_ns;
  grant.node = recorder_.history().intern(node);
  recorder_.append(grant);
  publish(RunEventKind::lock_granted, at->first, round.id, node);
}

void Watcher::end(Rounds::iterator at) {
  clients_[std::get<0>(at->first)].free.insert(at->second.slot);
  rounds_.erase(at);
}

void Watcher::gone(std::string_view client) {
  std::erase_if(rounds_, [&](const auto& round) { return std::get<0>(round.first) == client; });
  const auto of_it = [&](const Asked& asked) { return std::get<0>(asked.who) == client; };
  for (auto& [exchange, asked] : asked_) std::erase_if(asked, of_it);
  for (auto& [connection, transaction] : queued_) std::erase_if(transaction.asked, of_it);
}

std::uint64_t Watcher::understood(std::string_view client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : found->second.understood;
}

bool Watcher::busy(std::string_view client) const {
  return std::ranges::any_of(rounds_, [&](const auto& round) { return std::get<0>(round.first) == client; });
}

// The hold ended with its lease: its client did nothing any more that says otherwise.
Event Watcher::lost(const Rounds::value_type& round) const {
  Event lost = event(EventType::info, Function::lost, round.first, round.second);
  lost.time_ns = round.second.until_ns;
  return lost;
}

std::vector<Event> Watcher::given_up() const {
  std::vector<Event> all = given_up_;
  const std::int64_t now = recorder_.world().now_ns();
  for (const auto& round : rounds_) {
    const bool held = !round.second.waits && !round.second.releasing;
    if (held && round.second.until_ns != checker::kAbsent && round.second.until_ns < now) {
      all.push_back(lost(round));
    }
  }
  std::ranges::stable_sort(all, {}, &Event::time_ns);
  return all;
}

std::vector<Watcher::Held> Watcher::held() const {
  std::vector<Held> all;
  const std::int64_t now = recorder_.world().now_ns();
  for (const auto& [who, round] : rounds_) {
    const bool over = round.until_ns != checker::kAbsent && round.until_ns <= now;
    if (round.waits || round.releasing || over) continue;
    all.push_back({.key = std::get<1>(who),
                   .client = std::get<0>(who),
                   .since_ns = round.since_ns,
                   .until_ns = round.until_ns,
                   .shared = round.shared,
                   .permits = round.permits});
  }
  std::ranges::stable_sort(all, {}, &Held::key);
  return all;
}

std::uint32_t Watcher::free_slot(Client& client) {
  if (client.free.empty()) return client.next++;
  return client.free.extract(client.free.begin()).value();
}

Event Watcher::event(EventType type, Function f, const Who& who, const Round& round) const {
  checker::History& history = recorder_.history();
  const auto& [client, key, owner] = who;
  const std::string thread = client + "/" + std::to_string(round.slot);
  Event event;
  event.type = type;
  event.f = f;
  event.process = history.intern(f == Function::renew || f == Function::lost ? client + "/watchdog" : thread);
  event.key = history.intern(key);
  event.owner = history.intern(client + ":" + std::to_string(round.slot));
  if (!round.id.empty()) event.id = history.intern(round.id);
  if (round.shared) event.mode = history.intern("read");
  event.permits = round.permits;
  return event;
}

void Watcher::publish(RunEventKind kind, const Who& who, std::string_view id, std::string_view node) {
  if (!recorder_.anybody_listens()) return;
  const auto [client, key, owner] = who;  // who listens may end the client, and its rounds with it
  const std::string its_id(id);
  recorder_.publish({.kind = kind,
                     .client = client,
                     .key = key,
                     .id = its_id,
                     .node = node,
                     .time_ns = recorder_.world().now_ns()});
}

checker::History with_late_events(const checker::History& history, const std::vector<Event>& late) {
  checker::History all = history.names();
  all.reserve(history.events().size() + late.size());
  auto next = late.begin();
  for (const Event& event : history.events()) {
    for (; next != late.end() && next->time_ns < event.time_ns; ++next) all.append(*next);
    all.append(event);
  }
  for (; next != late.end(); ++next) all.append(*next);
  return all;
}

}  // namespace holdfast::sim
