// What a Sentinel answers: SENTINEL and its subcommands, ROLE, INFO, PUBLISH of greetings. PING, HELLO, AUTH,
// CLIENT and subscriptions are answered as by any server; nothing else is known here.
#include <algorithm>
#include <vector>

#include "sim/redis/engine.h"
#include "sim/redis/glob.h"
#include "sim/redis/sentinel/sentinel.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kUnknownPrimary = "ERR No such master with that name";
// Commands of any server that a Sentinel has, too.
constexpr std::string_view kCommon[] = {"ping",         "subscribe", "unsubscribe", "psubscribe",
                                        "punsubscribe", "client",    "auth",        "hello",
                                        "acl",          "command",   "shutdown"};

struct Subcommand {
  std::string_view name;
  int arity;  // as of a command: "sentinel" and the name count, below zero: at least
};
constexpr Subcommand kSubcommands[] = {{"ckquorum", 3},
                                       {"debug", -2},
                                       {"failover", 3},
                                       {"flushconfig", 2},
                                       {"get-master-addr-by-name", 3},
                                       {"is-master-down-by-addr", 6},
                                       {"master", 3},
                                       {"masters", 2},
                                       {"myid", 2},
                                       {"pending-scripts", 2},
                                       {"replicas", 3},
                                       {"reset", 3},
                                       {"sentinels", 3},
                                       {"set", -5},
                                       {"slaves", 3}};

}  // namespace

bool Sentinel::answer(Session& session, Args argv) {
  const std::string name = lower(argv[0]);
  Out& out = session.out;
  if (name == "sentinel") {
    answer_sentinel(session, argv);
  } else if ((name == "role" && argv.size() != 1) || (name == "publish" && argv.size() != 3)) {
    out.error("ERR wrong number of arguments for '" + name + "' command");
  } else if (name == "role") {
    out.array(2);
    out.bulk("sentinel");
    out.array(1);
    out.bulk(options_.primary_name);
  } else if (name == "info") {
    out.verbatim(info_text());
  } else if (name == "publish") {
    if (argv[1] != "__sentinel__:hello") {
      out.error("ERR Only HELLO messages are accepted by Sentinel instances.");
    } else {
      heard_greeting(argv[2]);
      out.integer(1);
    }
  } else if (std::find(std::begin(kCommon), std::end(kCommon), name) != std::end(kCommon)) {
    return false;
  } else {
    std::string text =
        "ERR unknown command '" + std::string(argv[0].substr(0, 128)) + "', with args beginning with: ";
    for (std::size_t i = 1, listed = 0; i < argv.size() && listed < 128; ++i) {
      const std::string_view shown = argv[i].substr(0, 128 - listed);
      text += "'" + std::string(shown) + "' ";
      listed += shown.size() + 3;
    }
    out.error(text);
  }
  return true;
}

void Sentinel::answer_sentinel(Session& session, Args argv) {
  Out& out = session.out;
  if (argv.size() < 2) return out.error("ERR wrong number of arguments for 'sentinel' command");
  const std::string name = lower(argv[1]);
  const auto* const known = std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                                         [&](const Subcommand& one) { return one.name == name; });
  if (known == std::end(kSubcommands)) {
    return out.error("ERR unknown subcommand '" + std::string(argv[1].substr(0, 128)) +
                     "'. Try SENTINEL HELP.");
  }
  const auto count = static_cast<int>(argv.size());
  if (known->arity >= 0 ? count != known->arity : count < -known->arity)
    return out.error("ERR wrong number of arguments for 'sentinel|" + name + "' command");
  if (name == "myid") return out.bulk(memory_.id);
  if (name == "pending-scripts") return out.array(0);
  if (name == "flushconfig") return out.ok();
  if (name == "debug") return answer_debug(session, argv);
  if (name == "is-master-down-by-addr") return answer_is_down(session, argv);
  if (name == "masters") {
    out.array(1);
    return show(session, *primary_);
  }
  const bool ours = argv[2] == options_.primary_name;
  if (name == "get-master-addr-by-name") {
    if (!ours) return out.nil_array();
    const Endpoint at = primary_address();
    out.array(2);
    out.bulk(at.host);
    return out.bulk(std::to_string(at.port));
  }
  if (name == "reset") {
    const bool meant = glob_match(argv[2], options_.primary_name);
    if (meant) {
      const Endpoint at = primary_->at;
      stop();
      stopped_ = false;
      replicas_.clear();
      sentinels_.clear();
      primary_ = make(SentinelRole::primary, at);
      agreed_down_ = forced_ = false;
      state_ = Failover::none;
      promoted_ = nullptr;
      failover_ms_ = 0;
      remember();
      event("+reset-master", *primary_);
    }
    return out.integer(meant ? 1 : 0);
  }
  if (!ours) return out.error(kUnknownPrimary);
  if (name == "master") return show(session, *primary_);
  if (name == "replicas" || name == "slaves") {
    out.array(replicas_.size());
    for (const auto& [at, replica] : replicas_) show(session, *replica);
    return;
  }
  if (name == "sentinels") {
    out.array(sentinels_.size());
    for (const auto& [id, sentinel] : sentinels_) show(session, *sentinel);
    return;
  }
  if (name == "ckquorum") {
    const std::size_t usable = usable_sentinels(), all = sentinels_.size() + 1;
    const bool quorum = static_cast<std::int64_t>(usable) >= options_.quorum, majority = usable > all / 2;
    if (quorum && majority) {
      return out.status("OK " + std::to_string(usable) +
                        " usable Sentinels. Quorum and failover authorization can be reached");
    }
    std::string text = "NOQUORUM " + std::to_string(usable) + " usable Sentinels. ";
    if (!quorum) text += "Not enough available Sentinels to reach the specified quorum for this master";
    if (!majority) {
      text += std::string(quorum ? "" : ". ") +
              "Not enough available Sentinels to reach the majority and authorize a failover";
    }
    return out.error(text);
  }
  if (name == "failover") {
    if (state_ != Failover::none) return out.error("INPROG Failover already in progress");
    if (best_replica() == nullptr) return out.error("NOGOODSLAVE No suitable replica to promote");
    begin_failover();
    forced_ = true;
    return out.ok();
  }
  answer_set(session, argv);
}

// ip port epoch candidate: is that primary down by this one's own opinion, and whom does it vote for.
void Sentinel::answer_is_down(Session& session, Args argv) {
  Out& out = session.out;
  std::int64_t port = 0, epoch = 0;
  if (!parse_integer(argv[3], port) || !parse_integer(argv[4], epoch))
    return out.error("ERR value is not an integer or out of range");
  const bool known = primary_->at == Endpoint{std::string(argv[2]), static_cast<std::uint16_t>(port)};
  std::string leader;
  std::int64_t leader_epoch = 0;
  if (known && argv[5] != "*") leader = vote(epoch, std::string(argv[5]), &leader_epoch);
  out.array(3);
  out.integer(known && tilt_ms_ == 0 && primary_->down ? 1 : 0);
  out.bulk(leader.empty() ? "*" : leader);
  out.integer(leader_epoch);
}

void Sentinel::answer_set(Session& session, Args argv) {
  Out& out = session.out;
  if (argv.size() % 2 == 0) {
    return out.error("ERR Unknown option or number of arguments for SENTINEL SET '" +
                     std::string(argv.back()) + "'");
  }
  for (std::size_t i = 3; i < argv.size(); i += 2) {
    const std::string option = lower(argv[i]);
    std::int64_t* const value = option == "quorum"                    ? &options_.quorum
                                : option == "down-after-milliseconds" ? &options_.down_after_ms
                                : option == "failover-timeout"        ? &options_.failover_timeout_ms
                                : option == "parallel-syncs"          ? &options_.parallel_syncs
                                                                      : nullptr;
    if (value == nullptr) {
      return out.error("ERR Unknown option or number of arguments for SENTINEL SET '" + std::string(argv[i]) +
                       "'");
    }
    std::int64_t number = 0;
    if (!parse_integer(argv[i + 1], number) || number <= 0) {
      return out.error("ERR Invalid argument '" + std::string(argv[i + 1]) + "' for SENTINEL SET '" +
                       std::string(argv[i]) + "'");
    }
    *value = number;
    event("+set", *primary_, " " + std::string(argv[i]) + " " + std::string(argv[i + 1]));
  }
  out.ok();
}

void Sentinel::answer_debug(Session& session, Args argv) {
  Out& out = session.out;
  SentinelPeriods& periods = options_.periods;
  const std::pair<std::string_view, std::int64_t*> all[] = {{"info-period", &periods.info},
                                                            {"ping-period", &periods.ping},
                                                            {"ask-period", &periods.ask},
                                                            {"publish-period", &periods.publish},
                                                            {"election-timeout", &periods.election}};
  for (std::size_t i = 2; i < argv.size(); i += 2) {
    std::int64_t number = 0;
    const std::string name = lower(argv[i]);
    const auto* const found =
        std::find_if(std::begin(all), std::end(all), [&](const auto& one) { return one.first == name; });
    if (found == std::end(all) || i + 1 == argv.size()) {
      return out.error("ERR Unknown option or number of arguments for SENTINEL DEBUG '" +
                       std::string(argv[i]) + "'");
    }
    if (!parse_integer(argv[i + 1], number) || number <= 0) {
      return out.error("ERR Invalid argument '" + std::string(argv[i + 1]) + "' for SENTINEL DEBUG '" +
                       std::string(argv[i]) + "'");
    }
    *found->second = number;
  }
  if (argv.size() > 2) return out.ok();
  out.array(2 * std::size(all));
  for (const auto& [name, value] : all) {
    std::string upper(name);
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    out.bulk(upper);
    out.bulk_integer(*value);
  }
}

std::size_t Sentinel::usable_sentinels() const {
  return 1 + static_cast<std::size_t>(std::count_if(sentinels_.begin(), sentinels_.end(),
                                                    [](const auto& entry) { return !entry.second->down; }));
}

std::string Sentinel::flags_of(const Instance& one) const {
  std::string flags;
  const auto add = [&](bool is, std::string_view flag) {
    if (is) flags.append(flags.empty() ? "" : ",").append(flag);
  };
  const bool primary = one.role == SentinelRole::primary;
  add(one.down, "s_down");
  add(primary && agreed_down_, "o_down");
  add(primary, "master");
  add(one.role == SentinelRole::replica, "slave");
  add(one.role == SentinelRole::sentinel, "sentinel");
  add(one.unlinked(), "disconnected");
  add(one.says_down, "master_down");
  add(primary && state_ != Failover::none, "failover_in_progress");
  add(one.promoted, "promoted");
  add(one.turn == Instance::Turn::sent, "reconf_sent");
  add(one.turn == Instance::Turn::under_way, "reconf_inprog");
  add(one.turn == Instance::Turn::done, "reconf_done");
  add(primary && forced_, "force_failover");
  return flags;
}

void Sentinel::show(Session& session, const Instance& one) {
  const std::int64_t now = now_ms();
  std::vector<std::pair<std::string_view, std::string>> fields;
  const auto add = [&](std::string_view name, std::string value) {
    fields.emplace_back(name, std::move(value));
  };
  const auto number = [&](std::string_view name, std::int64_t value) { add(name, std::to_string(value)); };
  const bool primary = one.role == SentinelRole::primary;
  add("name", primary                             ? options_.primary_name
              : one.role == SentinelRole::replica ? one.at.to_string()
                                                  : one.run_id);
  add("ip", one.at.host);
  number("port", one.at.port);
  add("runid", one.run_id);
  add("flags", flags_of(one));
  number("link-pending-commands", static_cast<std::int64_t>(one.commands->pending()));
  number("link-refcount", 1);
  if (primary && state_ != Failover::none) {
    static constexpr std::string_view kStates[] = {
        "none",           "wait_start",    "select_slave", "send_slaveof_noone",
        "wait_promotion", "reconf_slaves", "update_config"};
    add("failover-state", std::string(kStates[static_cast<std::size_t>(state_)]));
  }
  number("last-ping-sent", one.unanswered_ms == 0 ? 0 : now - one.unanswered_ms);
  number("last-ok-ping-reply", now - one.available_ms);
  number("last-ping-reply", now - one.ponged_ms);
  if (one.down) number("s-down-time", now - one.down_ms);
  if (primary && agreed_down_) number("o-down-time", now - one.agreed_down_ms);
  number("down-after-milliseconds", options_.down_after_ms);
  if (one.role != SentinelRole::sentinel) {
    number("info-refresh", one.told_ms == 0 ? 0 : now - one.told_ms);
    add("role-reported", one.says_replica ? "slave" : "master");
    number("role-reported-time", now - one.says_so_since_ms);
  }
  if (primary) {
    number("config-epoch", memory_.config_epoch);
    number("num-slaves", static_cast<std::int64_t>(replicas_.size()));
    number("num-other-sentinels", static_cast<std::int64_t>(sentinels_.size()));
    number("quorum", options_.quorum);
    number("failover-timeout", options_.failover_timeout_ms);
    number("parallel-syncs", options_.parallel_syncs);
  } else if (one.role == SentinelRole::replica) {
    number("master-link-down-time", one.link_down_for_ms);
    add("master-link-status", one.link_up ? "ok" : "err");
    add("master-host", one.follows.host.empty() ? "?" : one.follows.host);
    number("master-port", one.follows.port);
    number("slave-priority", one.priority);
    number("slave-repl-offset", one.offset);
    number("replica-announced", 1);
  } else {
    number("last-hello-message", now - one.heard_ms);
    add("voted-leader", one.voted_for.empty() ? "?" : one.voted_for);
    number("voted-leader-epoch", one.voted_epoch);
  }
  session.out.map(fields.size());
  for (const auto& [name, value] : fields) {
    session.out.bulk(name);
    session.out.bulk(value);
  }
}

std::string Sentinel::info_text() const {
  const auto line = [](std::string_view name, const std::string& value) {
    return std::string(name) + ':' + value + "\r\n";
  };
  const std::string_view status = agreed_down_ ? "odown" : primary_->down ? "sdown" : "ok";
  return "# Server\r\n" + line("redis_version", std::string(kRedisVersion)) + line("redis_mode", "sentinel") +
         line("run_id", engine_.run_id()) + line("tcp_port", std::to_string(engine_.port())) +
         "\r\n# Sentinel\r\n" + line("sentinel_masters", "1") +
         line("sentinel_tilt", tilt_ms_ != 0 ? "1" : "0") +
         line("sentinel_tilt_since_seconds",
              tilt_ms_ != 0 ? std::to_string((now_ms() - tilt_ms_) / 1000) : "-1") +
         line("sentinel_running_scripts", "0") + line("sentinel_scripts_queue_length", "0") +
         line("sentinel_simulate_failure_flags", "0") +
         line("master0", "name=" + options_.primary_name + ",status=" + std::string(status) + ",address=" +
                             primary_->at.to_string() + ",slaves=" + std::to_string(replicas_.size()) +
                             ",sentinels=" + std::to_string(sentinels_.size() + 1));
}

}  // namespace holdfast::sim::embedded
