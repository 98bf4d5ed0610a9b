// The connection itself: PING, AUTH, HELLO, SELECT, QUIT, RESET, CLIENT ...
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

void reset_transaction(Engine& engine, Session& session);

namespace {

void ping(Call& c) {
  if (c.argc() > 2) return c.out.error("ERR wrong number of arguments for 'ping' command");
  if (c.session.subscriptions() + c.session.shard_channels.size() > 0 && c.out.protocol == 2) {
    c.out.array(2);
    c.out.bulk("pong");
    return c.out.bulk(c.argc() == 2 ? c.arg(1) : "");
  }
  c.argc() == 2 ? c.out.bulk(c.arg(1)) : c.out.raw("+PONG\r\n");
}
void echo(Call& c) { c.out.bulk(c.arg(1)); }

void select(Call& c) {
  std::int64_t db = 0;
  if (c.engine.cluster() != nullptr && parse_integer(c.arg(1), db) && db != 0)
    return c.out.error("ERR SELECT is not allowed in cluster mode");
  if (!database_arg(c, 1, db)) return;
  c.session.db = static_cast<int>(db);
  c.out.ok();
}

void quit(Call& c) {
  c.out.ok();
  c.session.close_after_reply = true;
}

void reset(Call& c) {
  reset_transaction(c.engine, c.session);
  c.engine.pubsub().forget(c.session);
  c.session.db = 0;
  c.session.reads_replica = c.session.asking = false;
  c.session.name.clear();
  c.session.authenticated = c.engine.config().password.empty();
  c.session.reply_mode = ReplyMode::on;
  c.out.protocol = 2;
  c.out.raw("+RESET\r\n");
}

bool check_password(Call& c, std::string_view user, std::string_view password) {
  if (user == "default" && (c.engine.config().password.empty() || password == c.engine.config().password)) {
    c.session.authenticated = true;
    return true;
  }
  c.out.error("WRONGPASS invalid username-password pair or user is disabled.");
  return false;
}
void auth(Call& c) {
  if (c.argc() > 3) return c.out.error(kSyntax);
  if (c.argc() == 2 && c.engine.config().password.empty()) {
    return c.out.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  if (check_password(c, c.argc() == 3 ? c.arg(1) : "default", c.arg(c.argc() - 1))) c.out.ok();
}

void hello(Call& c) {
  std::int64_t version = c.out.protocol;
  if (c.argc() > 1 && !integer_arg(c, 1, version, "ERR Protocol version is not an integer or out of range"))
    return;
  if (version != 2 && version != 3) return c.out.error("NOPROTO unsupported protocol version");
  std::string_view user, password, name;
  bool has_name = false, has_auth = false;
  for (std::size_t i = 2; i < c.argc(); ++i) {
    if (c.option(i, "AUTH") && i + 2 < c.argc()) {
      user = c.arg(i + 1);
      password = c.arg(i + 2);
      has_auth = true;
      i += 2;
    } else if (c.option(i, "SETNAME") && i + 1 < c.argc()) {
      name = c.arg(++i);
      has_name = true;
    } else {
      return c.out.error("ERR Syntax error in HELLO option '" + std::string(c.arg(i)) + "'");
    }
  }
  if (has_auth && !check_password(c, user, password)) return;
  if (!c.session.authenticated) {
    return c.out.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the "
        "same time");
  }
  if (has_name) c.session.name = name;
  c.out.protocol = static_cast<int>(version);
  c.out.map(7);
  c.out.bulk("server");
  c.out.bulk("redis");
  c.out.bulk("version");
  c.out.bulk(kRedisVersion);
  c.out.bulk("proto");
  c.out.integer(version);
  c.out.bulk("id");
  c.out.integer(static_cast<std::int64_t>(c.session.id));
  c.out.bulk("mode");
  c.out.bulk(c.engine.answer_instead ? "sentinel" : c.engine.cluster() != nullptr ? "cluster" : "standalone");
  c.out.bulk("role");
  c.out.bulk(c.engine.is_replica() ? "replica" : "master");
  c.out.bulk("modules");
  c.out.array(0);
}

void client_id(Call& c) { c.out.integer(static_cast<std::int64_t>(c.session.id)); }
void client_getname(Call& c) { c.session.name.empty() ? c.out.nil() : c.out.bulk(c.session.name); }
void client_setname(Call& c) {
  const bool fine =
      std::all_of(c.arg(2).begin(), c.arg(2).end(), [](char ch) { return ch >= '!' && ch <= '~'; });
  if (!fine) return c.out.error("ERR Client names cannot contain spaces, newlines or special characters.");
  c.session.name = c.arg(2);
  c.out.ok();
}

// `argv_bytes`: of the request at hand, if it is this session's.
std::string describe(Engine& engine, const Session& s, std::size_t argv_bytes) {
  std::string flags;
  if (s.replica != ReplicaState::none) flags += 'S';
  if (s.subscriptions() + s.shard_channels.size() > 0) flags += 'P';
  if (s.in_multi) flags += 'x';
  if (s.blocked != Blocked::no) flags += 'b';
  if (s.watch_failed) flags += 'd';
  if (s.close_after_reply) flags += 'c';
  if (s.no_evict) flags += 'e';
  if (flags.empty()) flags = "N";
  const std::int64_t now = engine.mono_ms();
  return "id=" + std::to_string(s.id) + " addr=" + s.peer + " laddr=" + s.local + " fd=8 name=" + s.name +
         " age=" + std::to_string(now / 1000 - s.opened_ms / 1000) +
         " idle=" + std::to_string((now - s.active_ms) / 1000) + " flags=" + flags +
         " db=" + std::to_string(s.db) + " sub=" + std::to_string(s.channels.size()) +
         " psub=" + std::to_string(s.patterns.size()) + " ssub=" + std::to_string(s.shard_channels.size()) +
         " multi=" + std::to_string(s.in_multi ? static_cast<int>(s.queue.size()) : -1) +
         " qbuf=" + std::to_string(s.in.size()) +
         " qbuf-free=" + std::to_string(s.in.capacity() - s.in.size()) +
         " argv-mem=" + std::to_string(argv_bytes) + " multi-mem=" + std::to_string(s.queue.bytes()) +
         " rbs=1024 rbp=0 obl=0 oll=0 omem=" + std::to_string(s.out.bytes.size()) +
         " tot-mem=" + std::to_string(s.in.capacity() + s.out.bytes.size() + argv_bytes) +
         " events=r cmd=" + std::string(s.last_command) +
         " user=default redir=-1 resp=" + std::to_string(s.out.protocol);
}
std::string_view kind_of(const Session& s) {
  if (s.replica != ReplicaState::none) return "replica";
  return s.subscriptions() + s.shard_channels.size() > 0 ? "pubsub" : "normal";
}

std::size_t argv_bytes(const Call& c, const Session& of) {
  std::size_t bytes = 0;
  if (&of == &c.session) {
    for (const std::string_view word : c.argv) bytes += word.size();
  }
  return bytes;
}

void client_info(Call& c) { c.out.verbatim(describe(c.engine, c.session, argv_bytes(c, c.session)) + "\n"); }
void client_list(Call& c) {
  std::string wanted;
  std::vector<std::int64_t> ids;
  if (c.argc() == 4 && c.option(2, "TYPE")) {
    wanted = lower(c.arg(3));
    if (wanted == "slave") wanted = "replica";
    if (wanted != "normal" && wanted != "master" && wanted != "replica" && wanted != "pubsub") {
      return c.out.error("ERR Unknown client type '" + std::string(c.arg(3)) + "'");
    }
  } else if (c.argc() > 3 && c.option(2, "ID")) {
    for (std::size_t i = 3; i < c.argc(); ++i) {
      if (!integer_arg(c, i, ids.emplace_back(), "ERR Invalid client ID")) return;
    }
  } else if (c.argc() != 2) {
    return c.out.error(kSyntax);
  }
  std::string text;
  for (const auto& [id, session] : c.engine.sessions()) {
    if (!wanted.empty() && wanted != kind_of(*session)) continue;
    if (!ids.empty() && std::find(ids.begin(), ids.end(), static_cast<std::int64_t>(id)) == ids.end())
      continue;
    text += describe(c.engine, *session, argv_bytes(c, *session)) + "\n";
  }
  c.out.verbatim(text);
}

void kill(Call& c, Session& victim) {
  if (&victim == &c.session) {
    victim.close_after_reply = true;
  } else {
    c.engine.close_later(victim);
  }
}
void client_kill(Call& c) {
  if (c.argc() == 3) {  // the old form
    for (const auto& [id, session] : c.engine.sessions()) {
      if (session->peer != c.arg(2)) continue;
      kill(c, *session);
      return c.out.ok();
    }
    return c.out.error("ERR No such client");
  }
  std::int64_t wanted_id = 0;
  std::string type;
  std::string_view addr, laddr;
  bool skip_me = true;
  for (std::size_t i = 2; i < c.argc(); i += 2) {
    if (i + 1 >= c.argc()) return c.out.error(kSyntax);
    if (c.option(i, "ID")) {
      if (!integer_arg(c, i + 1, wanted_id, "ERR client-id should be greater than 0")) return;
      if (wanted_id < 1) return c.out.error("ERR client-id should be greater than 0");
    } else if (c.option(i, "TYPE")) {
      type = lower(c.arg(i + 1));
      if (type == "slave") type = "replica";
      if (type != "normal" && type != "master" && type != "replica" && type != "pubsub") {
        return c.out.error("ERR Unknown client type '" + std::string(c.arg(i + 1)) + "'");
      }
    } else if (c.option(i, "ADDR")) {
      addr = c.arg(i + 1);
    } else if (c.option(i, "LADDR")) {
      laddr = c.arg(i + 1);
    } else if (c.option(i, "USER")) {
      if (c.arg(i + 1) != "default")
        return c.out.error("ERR No such user '" + std::string(c.arg(i + 1)) + "'");
    } else if (c.option(i, "SKIPME")) {
      if (!c.option(i + 1, "yes") && !c.option(i + 1, "no")) return c.out.error(kSyntax);
      skip_me = c.option(i + 1, "yes");
    } else {
      return c.out.error(kSyntax);
    }
  }
  std::int64_t killed = 0;
  for (const auto& [id, session] : c.engine.sessions()) {
    if (wanted_id != 0 && static_cast<std::int64_t>(id) != wanted_id) continue;
    if (!type.empty() && kind_of(*session) != type) continue;
    if (!addr.empty() && session->peer != addr) continue;
    if (!laddr.empty() && session->local != laddr) continue;
    if (session.get() == &c.session && skip_me) continue;
    kill(c, *session);
    ++killed;
  }
  c.out.integer(killed);
}

void client_reply(Call& c) {
  if (c.option(2, "ON")) {
    c.session.reply_mode = ReplyMode::on;
    c.out.ok();
  } else if (c.option(2, "OFF")) {
    c.session.reply_mode = ReplyMode::off;
  } else if (c.option(2, "SKIP")) {
    if (c.session.reply_mode == ReplyMode::on) c.session.reply_mode = ReplyMode::skip_next;
  } else {
    c.out.error(kSyntax);
  }
}
void client_noevict(Call& c) {
  if (!c.option(2, "ON") && !c.option(2, "OFF")) return c.out.error(kSyntax);
  c.session.no_evict = c.option(2, "ON");
  c.out.ok();
}
void client_pause(Call& c) {
  bool all = true;
  if (c.argc() == 4) {
    all = c.option(3, "ALL");
    if (!all && !c.option(3, "WRITE")) return c.out.error("ERR CLIENT PAUSE mode must be WRITE or ALL");
  }
  std::int64_t ms = 0;
  if (!integer_arg(c, 2, ms, "ERR timeout is not an integer or out of range")) return;
  if (ms < 0) return c.out.error("ERR timeout is negative");
  c.engine.pause_clients(Engine::Pause::by_command, c.engine.mono_ms() + ms, all);
  c.out.ok();
}
void client_unpause(Call& c) {
  c.engine.unpause_clients(Engine::Pause::by_command);
  c.out.ok();
}
void client_unblock(Call& c) {
  std::int64_t id = 0;
  bool with_error = false;
  if (c.argc() == 4) {
    with_error = c.option(3, "ERROR");
    if (!with_error && !c.option(3, "TIMEOUT")) {
      return c.out.error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    }
  }
  if (!integer_arg(c, 2, id)) return;
  Session* session = c.engine.session_by_id(static_cast<std::uint64_t>(id));
  if (session == nullptr || (session->blocked != Blocked::by_wait && session->blocked != Blocked::on_keys)) {
    return c.out.integer(0);
  }
  if (with_error) {
    session->out.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else {
    c.engine.answer_timed_out(*session);
  }
  c.engine.unblock(*session);
  c.out.integer(1);
}
void client_ok(Call& c) { c.out.ok(); }
void client_getredir(Call& c) { c.out.integer(-1); }

}  // namespace

void add_connection_commands(Specs& specs) {
  constexpr std::uint32_t kC = kNoScript | kWhilePaused;
  specs.insert(specs.end(),
               {
                   {"ping", ping, -1, kFast | kInPubSub},
                   {"echo", echo, 2, kFast},
                   {"select", select, 2, kFast},
                   {"quit", quit, -1, kAllowBusy | kNoAuth | kNoScript | kFast | kInPubSub | kInMulti},
                   {"reset", reset, 1, kAllowBusy | kNoAuth | kNoScript | kFast | kInPubSub | kInMulti},
                   {"auth", auth, -2, kAllowBusy | kNoAuth | kNoScript | kFast},
                   {"hello", hello, -1, kAllowBusy | kNoAuth | kNoScript | kFast},
                   {"client", nullptr, -2, kNoScript | kContainer},
                   {"client|id", client_id, 2, kNoScript},
                   {"client|getname", client_getname, 2, kNoScript},
                   {"client|setname", client_setname, 3, kNoScript},
                   {"client|info", client_info, 2, kNoScript},
                   {"client|list", client_list, -2, kNoScript},
                   {"client|kill", client_kill, -3, kNoScript},
                   {"client|reply", client_reply, 3, kNoScript},
                   {"client|no-evict", client_noevict, 3, kNoScript},
                   {"client|pause", client_pause, -3, kC},
                   {"client|unpause", client_unpause, 2, kC},
                   {"client|unblock", client_unblock, -3, kNoScript},
                   {"client|getredir", client_getredir, 2, kNoScript},
                   {"client|caching", client_ok, 3, kNoScript},
               });
}

}  // namespace holdfast::sim::embedded
