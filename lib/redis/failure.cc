#include "lib/redis/failure.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

struct Row {
  std::string_view begin;  // of the error, up to the end of a word
  Meaning meaning;
  bool not_executed;  // Redis says so before a command, or a script's first write, has any effect
  std::string_view advice = {};
};

// The errors of Redis 7 that a client can meet, whatever it sends.
constexpr std::array kTable = {
    // The server cannot do it now.
    Row{"LOADING", Meaning::loading, true, "the server is still loading its data: try again"},
    Row{"BUSY", Meaning::again, true, "a script has been running too long on the server"},
    Row{"NOREPLICAS", Meaning::again, true,
        "the primary has fewer good replicas than its min-replicas-to-write"},
    Row{"MISCONF", Meaning::again, true, "the server cannot persist and refuses writes: see its log"},
    Row{"OOM", Meaning::again, true, "the server has reached its maxmemory"},
    Row{"ERR max number of clients reached", Meaning::again, true,
        "the server has reached its maxclients, or its limit of open files"},
    Row{"ERR Error registering fd event", Meaning::again, true, "the server has no more file descriptors"},
    Row{"TRYAGAIN", Meaning::again, true},
    Row{"CLUSTERDOWN", Meaning::again, true},
    // A script deletes a key of a slot that moves, or its last member, and finds itself shut out from it.
    Row{"ERR Script attempted to access a non local key in a cluster node", Meaning::again, false,
        "the hash slot of its keys is on its way to another node"},
    Row{"ERR Lua script attempted to access a non local key in a cluster node", Meaning::again, false,
        "the hash slot of its keys is on its way to another node"},
    Row{"UNBLOCKED", Meaning::again, true},
    Row{"IOERR", Meaning::again, true},
    // Of a survivor's guard (lib/lock/store/survivor_guard.lua), before the lock's own script.
    Row{"FOREIGNREPLICA", Meaning::again, true,
        "a replica that is none of SurvivorOptions::members follows the primary: take it away, or add it to "
        "the members"},
    Row{"OTHERCONSTANTS", Meaning::final, true,
        "all clients of a set must have the same SurvivorOptions: see `holdfast survivor status`"},
    Row{"EVICTS", Meaning::final, true, "set maxmemory-policy to noeviction on all members"},
    Row{"TOKENAHEAD", Meaning::final, true,
        "the server's clock is behind that of an earlier primary by more than SurvivorOptions::skew"},
    // Another node can.
    Row{"READONLY", Meaning::primary, true,
        "the node is a replica: list all nodes of the set, so that the primary can be found"},
    Row{"MASTERDOWN", Meaning::primary, true,
        "the node is a replica that lost its primary: list all nodes of the set"},
    Row{"NOMASTERLINK", Meaning::primary, true},
    Row{"NOTPRIMARY", Meaning::primary, true},
    Row{"NOSCRIPT", Meaning::unknown, true},
    // Nobody can, before a person has mended something.
    Row{"NOAUTH", Meaning::final, true,
        "the server asks for a password: set user and password in ClientOptions"},
    Row{"WRONGPASS", Meaning::final, true, "check user and password in ClientOptions"},
    Row{"NOPERM", Meaning::final, true, "give the user the right to run this command and touch these keys"},
    Row{"DENIED", Meaning::final, true},
    Row{"NOPROTO", Meaning::final, true},
    Row{"MOVED", Meaning::final, true, "the server is a node of a Redis Cluster: set ClientOptions::cluster"},
    Row{"ASK", Meaning::final, true, "the server is a node of a Redis Cluster: set ClientOptions::cluster"},
    Row{"CROSSSLOT", Meaning::final, true,
        "its keys lie in different hash slots of the Redis Cluster: give them one hash tag"},
    Row{"INPROG", Meaning::final, true},
    Row{"EXECABORT", Meaning::final, true},
    Row{"NOTBUSY", Meaning::final, true},
    Row{"UNKILLABLE", Meaning::final, true},
    Row{"NOGOODSLAVE", Meaning::final, true},
    Row{"ERR unknown command", Meaning::final, true},
    Row{"ERR wrong number of arguments", Meaning::final, true},
    // A script that has written may end like this, too.
    Row{"WRONGTYPE", Meaning::final, false,
        "something else is kept at this key: use another one, or remove that"},
    Row{"BUSYGROUP", Meaning::final, false},
    Row{"NOGROUP", Meaning::final, false},
    Row{"BUSYKEY", Meaning::final, false},
};

const Row* row_of(std::string_view error) noexcept {
  for (const Row& row : kTable) {
    if (!error.starts_with(row.begin)) continue;
    const std::string_view rest = error.substr(row.begin.size());
    if (rest.empty() || rest.front() == ' ' || rest.front() == ',') return &row;
  }
  return nullptr;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y));
  });
}

bool is_script(std::string_view command) {
  for (const std::string_view name :
       {"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "EXEC"}) {
    if (same_ignoring_case(command, name)) return true;
  }
  return false;
}

}  // namespace

Meaning meaning_of(std::string_view error) noexcept {
  const Row* const row = row_of(error);
  return row == nullptr ? Meaning::final : row->meaning;
}

bool says_not_executed(std::string_view command, const Reply& error) {
  const Row* const row = row_of(error.text);
  if (row != nullptr && row->not_executed) return true;
  // Any other single command checks before it writes.
  return !is_script(command) && (row != nullptr || error.error_code() == "ERR");
}

std::string legible(std::string_view text, std::size_t most) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out.append("\\x").append(1, kDigits[byte / 16]).append(1, kDigits[byte % 16]);
    }
  }
  if (text.size() > most) out.append("... (").append(std::to_string(text.size())).append(" bytes)");
  return out;
}

std::string ended_without_a_word(IoStatus status, std::string_view more, bool tls) {
  std::string text = describe(status, more);
  if (!tls && (status == IoStatus::reset || status == IoStatus::eof))
    text += "; where the server speaks TLS, write rediss://, or set ClientOptions::tls";
  return text;
}

Error rejection(std::string_view node, std::string_view command, const Reply& error, bool was_primary) {
  const std::string code = error.error_code();
  const bool not_executed = says_not_executed(command, error);
  const bool unauthorized = code == "NOAUTH" || code == "WRONGPASS" || code == "NOPERM";
  std::string what =
      std::string(node) + ": " + std::string(command) + ": the server answered: " + legible(error.text);
  if (const Row* const row = row_of(error.text); row != nullptr && !row->advice.empty()) {
    what.append("; ").append(row->advice);
  }
  if (!not_executed) what.append(" (it may have been executed in part)");
  const Meaning meaning = meaning_of(error.text);
  Kind kind = unauthorized ? Kind::unauthorized : Kind::rejected;
  if (meaning == Meaning::again || meaning == Meaning::loading) kind = Kind::passing;
  if (meaning == Meaning::primary && was_primary) kind = Kind::unavailable;
  return Error(kind, std::string(node), std::string(command), legible(code, 64), !not_executed, what);
}

Error failure(Kind kind, std::string_view node, std::string_view command, bool may_have_executed,
              std::string_view what) {
  std::string text;
  if (!node.empty()) text.append(node).append(": ");
  text.append(command).append(": ").append(legible(what, 1000));
  text.append(may_have_executed ? " (it may have been executed)" : " (it was not executed)");
  return Error(kind, std::string(node), std::string(command), "", may_have_executed, text);
}

}  // namespace holdfast::redis
