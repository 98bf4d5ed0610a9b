#include "lib/redis/failure.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

// Refusals that Redis gives before a command, or a script's first write, has any effect.
constexpr std::array<std::string_view, 22> kRefusals = {
    "READONLY", "MASTERDOWN", "LOADING",    "NOAUTH",  "NOPERM",    "WRONGPASS", "NOSCRIPT", "BUSY",
    "MISCONF",  "NOREPLICAS", "OOM",        "MOVED",   "ASK",       "CROSSSLOT", "TRYAGAIN", "CLUSTERDOWN",
    "NOPROTO",  "EXECABORT",  "NOTPRIMARY", "NOTBUSY", "UNBLOCKED", "DENIED"};

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

std::string_view advice(std::string_view code) {
  if (code == "READONLY")
    return "the node is a replica: list all nodes of the set, so that the primary can be found";
  if (code == "MASTERDOWN") return "the node is a replica that lost its primary: list all nodes of the set";
  if (code == "LOADING") return "the server is still loading its data: try again";
  if (code == "NOAUTH") return "the server asks for a password: set user and password in ClientOptions";
  if (code == "WRONGPASS") return "check user and password in ClientOptions";
  if (code == "NOPERM") return "give the user the right to run this command and touch these keys";
  if (code == "NOREPLICAS") return "the primary has fewer good replicas than its min-replicas-to-write";
  if (code == "MISCONF") return "the server cannot persist and refuses writes: see its log";
  if (code == "OOM") return "the server has reached its maxmemory";
  if (code == "WRONGTYPE") return "something else is kept at this key: use another one, or remove that";
  if (code == "BUSY") return "a script has been running too long on the server";
  return {};
}

}  // namespace

bool means_not_primary(std::string_view code) noexcept {
  return code == "READONLY" || code == "MASTERDOWN" || code == "LOADING";
}

bool says_not_executed(std::string_view command, const Reply& error) {
  const std::string code = error.error_code();
  if (std::find(kRefusals.begin(), kRefusals.end(), code) != kRefusals.end()) return true;
  if (error.text.starts_with("ERR unknown command '") || error.text.starts_with("ERR unknown command `") ||
      error.text.starts_with("ERR wrong number of arguments for ") ||
      error.text.starts_with("ERR max number of clients reached")) {
    return true;
  }
  // Any other single command checks before it writes.
  return !is_script(command) && (code == "ERR" || code == "WRONGTYPE");
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

Error rejection(std::string_view node, std::string_view command, const Reply& error) {
  const std::string code = error.error_code();
  const bool not_executed = says_not_executed(command, error);
  const bool unauthorized = code == "NOAUTH" || code == "WRONGPASS" || code == "NOPERM";
  std::string what =
      std::string(node) + ": " + std::string(command) + ": the server answered: " + legible(error.text);
  if (const std::string_view hint = advice(code); !hint.empty()) what.append("; ").append(hint);
  if (!not_executed) what.append(" (it may have been executed in part)");
  return Error(unauthorized ? Kind::unauthorized : Kind::rejected, std::string(node), std::string(command),
               legible(code, 64), !not_executed, what);
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
