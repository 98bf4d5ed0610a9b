#include "lib/lock/store/survivor_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lib/lock/engine/wire.h"
#include "lib/lock/store/survivor_scripts.h"
#include "lib/redis/error.h"
#include "lib/redis/failure.h"

namespace holdfast {
namespace {

using redis::Reply;

// Of a renewal that only looks: no lease that is left is less than this, so it changes nothing.
constexpr std::string_view kNoLease = "-1";

// The server takes the difference of two whole seconds, and looks at its clock ten times a second only: a
// replica may have connected so much later than its age says.
constexpr Duration kAgeMayBeOff = std::chrono::milliseconds(1200);

// So often a client looks at a primary whose replicas it has not seen yet. The first WAIT is no longer than
// that, or twice what the last acknowledgement took, so that what stands behind it comes soon: after a
// failover a script that the server does not know, or the word that a quarantine has begun, and nobody may be
// there who acknowledges.
constexpr Duration kLookAgain = std::chrono::milliseconds(100);

// Seconds since each replica connected, as CLIENT LIST says it.
std::vector<std::int64_t> ages_of(std::string_view list) {
  std::vector<std::int64_t> ages;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find('\n'), list.size());
    const std::string_view line = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t at = line.find(" age=");
    if (at == std::string_view::npos) continue;
    std::int64_t age = 0;
    std::from_chars(line.data() + at + 5, line.data() + line.size(), age);
    ages.push_back(age);
  }
  return ages;
}

bool has_no_effect(const Reply& item) { return item.type != Reply::Type::integer || item.integer == 0; }

bool has(const std::vector<std::string>& members, std::string_view address) {
  return std::find(members.begin(), members.end(), address) != members.end();
}

}  // namespace

struct SurvivorStore::Round {
  std::string_view node;
  MonotonicTime sent_at{};
  Reply answer;       // of the first script, without the guard's words
  Stint first, last;  // when that ran, and at the last look
  Replicas replicas;
  std::vector<Reply> stands;  // by the last look
  // So long after `sent_at` the ages in the list are enough, whole seconds as they are. Nothing: no list.
  std::optional<Duration> old_after;
  std::size_t old() const { return replicas.connected - replicas.young; }
};

SurvivorStore::SurvivorStore(redis::Client& client, const LockOptions& options)
    : ClientStore(client),
      majority_(options.survivor->members.size() / 2),
      members_(options.survivor->members),
      quarantine_(quarantine_of(*options.survivor)),
      replica_timeout_(options.replica_timeout),
      constants_(survivor_constants(*options.survivor)),
      by_lag_(options.survivor->acknowledged == SurvivorOptions::Acknowledged::by_lag),
      grants_(GroupCommit::of(client)),
      mutex_(client.runtime()) {}

std::unique_ptr<Store> SurvivorStore::make(redis::Client& client, const LockOptions& options) {
  if (client.options().cluster) {
    throw std::invalid_argument("survivor: not on a Redis Cluster; give it a replicated set of its own");
  }
  const bool names_only = !client.options().sentinels.empty();
  for (const redis::Node& node : client.options().nodes) {
    const std::string address = node.endpoint.to_string();
    if (!names_only && !has(options.survivor->members, address)) {
      throw std::invalid_argument("survivor: the client's node " + address + " is none of the members");
    }
  }
  return std::make_unique<SurvivorStore>(client, options);
}

redis::Answer SurvivorStore::acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                                     const redis::CallOptions& options) {
  const std::vector<std::string_view> record(wire.renew_keys.begin(), wire.renew_keys.end());
  const std::array<std::string_view, 2> look{kNoLease, args[0]};
  return acknowledged({*wire.acquire, keys, args, Purpose::acquire},
                      {*wire.renew, record, look, Purpose::look}, options);
}

Store::Renewal SurvivorStore::renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                    const redis::CallOptions& options) {
  std::vector<std::string_view> look(args.begin(), args.end());
  look[0] = kNoLease;
  return acknowledged({script, keys, args, Purpose::renew}, {script, keys, look, Purpose::look}, options);
}

std::size_t SurvivorStore::needed(Purpose purpose, const Replicas& replicas) const {
  if (majority_ == 0) return 0;  // the server is the only member
  return majority_ + (purpose == Purpose::acquire ? replicas.young : 0);
}

bool SurvivorStore::enough(Purpose purpose, const Replicas& replicas) const {
  return replicas.acknowledged >= needed(purpose, replicas) ||
         (majority_ > 0 && replicas.known_acknowledged >= majority_);
}

std::size_t SurvivorStore::watched(Duration for_long) {
  const std::lock_guard lock(mutex_);
  return watch_.followed_the_last(runtime().now() - for_long);
}

Duration SurvivorStore::usual_wait() {
  const std::lock_guard lock(mutex_);
  const auto usual = std::chrono::ceil<std::chrono::milliseconds>(2 * last_took_);
  return std::min<Duration>(std::max<Duration>(usual, kLookAgain), replica_timeout_);
}

// A refusal says how long it stands, from when the script ran; WAIT may have held it up since.
void SurvivorStore::when_to_look_again(std::vector<Reply>& refusal, const Round& round) {
  if (refusal.size() < 2 || refusal[1].integer <= 0) return;
  using std::chrono::milliseconds;
  const MonotonicTime now = runtime().now();
  const Duration since = now - round.sent_at, soon = kLookAgain - since;
  Duration left = milliseconds(refusal[1].integer) - std::chrono::floor<milliseconds>(since);
  const bool quarantine = refusal.size() == 2;  // the lock itself has more to say to who waits
  const std::lock_guard lock(mutex_);
  const MonotonicTime seen = watch_.so_many_since(majority_);
  if (seen == kNever) {
    if (left > soon && now >= next_look_) {  // one caller looks for all, so as to see the replicas come
      left = std::max(soon, Duration::zero());
      next_look_ = now + left;
    }
  } else if (quarantine && round.old() < majority_) {
    // An acquire that no old replica can acknowledge would only keep out those of who has seen them before.
    left = round.old_after ? std::max(left, std::min(seen + quarantine_ - now, *round.old_after - since))
                           : std::min(left, soon);  // they may have come long before: ask for their ages
  }
  refusal[1].integer = std::max<std::int64_t>(1, std::chrono::ceil<milliseconds>(left).count());
}

std::size_t SurvivorStore::waits_for(Purpose) const { return majority_; }

bool SurvivorStore::is_member(std::string_view node) const {
  for (const redis::Node& known : client_.options().nodes) {
    const std::string address = known.endpoint.to_string();
    if (node == (known.name.empty() ? address : known.name)) return has(members_, address);
  }
  return has(members_, node);  // Sentinels name it by its address
}

void SurvivorStore::give_up(std::string_view node, const std::string& why) const {
  throw redis::failure(redis::Error::Kind::unavailable, node, "EVALSHA", true, why);
}

SurvivorStore::Command SurvivorStore::command(const Call& call, std::string_view count, bool by_text) const {
  const redis::Script& script = guarded(call.script);
  std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  keys.push_back(kSurvivorMark);
  std::vector<std::string_view> args(call.args.begin(), call.args.end());
  args.push_back(constants_);
  args.push_back(call.purpose == Purpose::acquire ? "acquire"
                 : call.purpose == Purpose::renew ? "renew"
                                                  : "look");
  return script_call(by_text ? "EVAL" : "EVALSHA", by_text ? script.text : script.sha1, count, keys, args);
}

SurvivorStore::Round SurvivorStore::ask(const Call& first, const Awaited& awaited, const Call& look,
                                        Ages ages, std::optional<MonotonicTime> first_sent,
                                        const redis::CallOptions& options) {
  const std::string first_count = std::to_string(first.keys.size() + 1);
  const std::string look_count = std::to_string(look.keys.size() + 1);
  const std::string wanted = std::to_string(awaited.replicas), timeout = milliseconds_text(awaited.timeout);
  // The list comes before WAIT: whoever is counted is on it, or has joined since, which the last look sees.
  // So does INFO: its offset has what the script wrote, and not yet what WAIT itself sends.
  const bool by_text = by_text_.exchange(false);
  std::array<Command, 4> commands{
      command(first, first_count, by_text),
      ages == Ages::watched ? Command{"INFO", "replication"} : Command{"CLIENT", "LIST", "TYPE", "replica"},
      Command{"WAIT", wanted, timeout}, command(look, look_count, by_text)};
  const auto send = [&] {
    if (options.lane != redis::Lane::replicas) return client_.call_all(commands, options);
    const std::span<const Command> all = commands;
    return grants_->call({.before = all.first(1),
                          .shared = commands[1],
                          .wait = {awaited.replicas, awaited.timeout},
                          .after = all.last(1)},
                         options);
  };
  std::vector<redis::Answer> answers;
  try {
    answers = send();
  } catch (const redis::Error&) {
    by_text_ = true;
    throw;
  }
  if (is_unknown_script(answers[0].reply) || is_unknown_script(answers[3].reply)) {
    commands[0] = command(first, first_count, true);
    commands[3] = command(look, look_count, true);
    answers = send();
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].reply.is_error()) throw client_.refusal(commands[i][0], answers[i]);
  }
  Round round;
  round.node = answers[0].node;
  round.sent_at = answers[0].sent_at;
  const auto unwrap = [&](Reply& reply, std::size_t size, Reply& answer, Stint& stint) {
    std::vector<Reply>& items = reply.items;
    if (items.size() != size || items[2].type != Reply::Type::integer) {
      give_up(round.node, "the script gave an answer of an unknown form");
    }
    answer = std::move(items[0]);
    stint = {std::move(items[1].text), items[2].integer};
  };
  Reply stands;
  unwrap(answers[0].reply, first.purpose == Purpose::look ? 4 : 3, round.answer, round.first);
  unwrap(answers[3].reply, 4, stands, round.last);
  const std::vector<FollowingReplica> following = replicas_in(answers[3].reply.items[3].text);
  // Old enough when `since` was sent, so that what was written then came a quarantine after they joined.
  const MonotonicTime since = first_sent.value_or(round.sent_at);
  std::vector<std::string> old;
  {
    const std::lock_guard lock(mutex_);
    watch_.saw(round.last, following, round.sent_at, runtime().now());
    old = watch_.followed(round.last, since - quarantine_);
  }
  round.stands = std::move(stands.items);
  Replicas& counted = round.replicas;
  counted.acknowledged = static_cast<std::size_t>(std::max<std::int64_t>(0, answers[2].reply.integer));
  const std::string_view said = answers[1].reply.text;
  if (ages == Ages::listed) {
    const Duration old_age = quarantine_ + (round.sent_at - since) + kAgeMayBeOff;
    std::vector<std::int64_t> known = ages_of(said);
    for (const std::int64_t age : known) {
      ++counted.connected;
      if (std::chrono::seconds(age) < old_age) ++counted.young;
    }
    std::sort(known.rbegin(), known.rend());
    const std::chrono::seconds oldest(known.size() < majority_ ? 0 : known[majority_ - 1]);
    round.old_after = std::chrono::ceil<std::chrono::seconds>(old_age) - oldest;
    return round;
  }
  for (const FollowingReplica& replica : replicas_in(said)) {
    ++counted.connected;
    if (!has(old, replica.address)) ++counted.young;
  }
  std::int64_t written = std::numeric_limits<std::int64_t>::max();
  const std::string_view offset = info_value(said, "master_repl_offset");
  std::from_chars(offset.data(), offset.data() + offset.size(), written);
  counted.known_acknowledged = static_cast<std::size_t>(
      std::count_if(following.begin(), following.end(), [&](const FollowingReplica& replica) {
        return replica.online && replica.offset >= written && has(old, replica.address);
      }));
  return round;
}

redis::Answer SurvivorStore::trusted(const Call& does, const redis::CallOptions& options) {
  const std::string count = std::to_string(does.keys.size() + 1);
  std::array<Command, 1> commands{command(does, count, false)};
  redis::Answer answer = client_.call_all(commands, options).at(0);
  if (is_unknown_script(answer.reply)) {
    commands[0] = command(does, count, true);
    answer = client_.call_all(commands, options).at(0);
  }
  if (answer.reply.is_error()) throw client_.refusal(commands[0][0], answer);
  if (answer.reply.items.size() != 3) give_up(answer.node, "the script gave an answer of an unknown form");
  Reply said = std::move(answer.reply.items[0]);
  answer.reply = std::move(said);
  const std::vector<Reply>& items = answer.reply.items;
  const bool refused = items.empty() || std::all_of(items.begin(), items.end(), has_no_effect);
  if (!refused && !is_member(answer.node)) give_up(answer.node, "the server is none of the members");
  return answer;
}

redis::Answer SurvivorStore::acknowledged(const Call& does, const Call& look,
                                          const redis::CallOptions& plain) {
  if (by_lag_ || members_.size() == 1) return trusted(does, plain);
  const redis::CallOptions options =
      on_lane(plain, does.purpose == Purpose::acquire ? redis::Lane::replicas : redis::Lane::replica_leases);
  const bool acquires = does.purpose == Purpose::acquire;
  // A renewal counts the young ones, too.
  const Ages ages = acquires && watched(quarantine_) >= majority_ ? Ages::watched : Ages::listed;
  const Duration first_wait = usual_wait();
  Round round = ask(does, {waits_for(does.purpose), first_wait}, look, ages, std::nullopt, options);
  redis::Answer answer{std::move(round.answer), round.node, round.sent_at};
  std::vector<Reply>& items = answer.reply.items;
  // Refused: nothing that replicas would have to have.
  if (acquires ? items.empty() || has_no_effect(items[0])
               : std::all_of(items.begin(), items.end(), has_no_effect)) {
    if (acquires) when_to_look_again(items, round);
    return answer;
  }
  if (!is_member(answer.node)) give_up(answer.node, "the server is none of the members");
  const Stint stint = round.first;
  const bool some_young = round.replicas.young > 0;
  if (!enough(does.purpose, round.replicas) && (some_young || first_wait < replica_timeout_)) {
    // Where nobody is known for so long any more, CLIENT LIST may know more.
    const Ages by = watched(quarantine_) >= majority_ ? ages : Ages::listed;
    const std::size_t all = needed(does.purpose, round.replicas);
    const Awaited rest = some_young ? Awaited{std::min(all, round.replicas.connected), replica_timeout_}
                                    : Awaited{all, replica_timeout_ - first_wait};
    round = ask(look, rest, look, by, answer.sent_at, options);
    if (!same_stint(stint, round.first))
      give_up(answer.node, "the primary or its replicas changed meanwhile");
  }
  if (!same_stint(stint, round.last)) give_up(answer.node, "the primary or its replicas changed meanwhile");
  if (!enough(does.purpose, round.replicas)) {
    const std::size_t all = needed(does.purpose, round.replicas);
    const std::string young =
        all == majority_ ? "" : ", of whom " + std::to_string(all - majority_) + " joined too lately";
    give_up(answer.node, "only " + std::to_string(round.replicas.acknowledged) + " of " +
                             std::to_string(all) + " replicas" + young + " acknowledged it within " +
                             milliseconds_text(replica_timeout_) + " ms");
  }
  const Duration took = runtime().now() - answer.sent_at;
  {
    const std::lock_guard lock(mutex_);
    last_took_ = took;
  }
  if (acquires) {
    if (round.stands.size() != 1 || has_no_effect(round.stands[0])) {
      give_up(answer.node, "its record was gone at the last look");
    }
  } else if (round.stands.size() != items.size()) {
    give_up(answer.node, "the last look gave an answer of an unknown form");
  } else {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (has_no_effect(round.stands[i])) items[i] = std::move(round.stands[i]);
    }
  }
  return answer;
}

Duration quarantine_of(const SurvivorOptions& options) {
  const Duration longest = options.longest_lease;
  const Duration drifted = longest + longest / 1'000'000 * options.drift_ppm;
  return std::chrono::ceil<std::chrono::milliseconds>(drifted) + options.skew + std::chrono::milliseconds(5);
}

std::string survivor_constants(const SurvivorOptions& options) {
  std::vector<std::string> members = options.members;
  std::sort(members.begin(), members.end());
  std::string text = " 1 " + milliseconds_text(options.longest_lease) + ' ' +
                     std::to_string(options.drift_ppm) + ' ' + milliseconds_text(options.skew) + ' ';
  if (options.acknowledged == SurvivorOptions::Acknowledged::by_lag) text += "by-lag ";
  for (const std::string& member : members) text.append(member).append(1, ' ');
  return text;
}

}  // namespace holdfast
