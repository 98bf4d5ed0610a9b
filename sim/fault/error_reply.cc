// error-reply: requests are not executed, and answered by an error, as by a server that loads its data, runs
// a script for too long, or cannot write to its disk. The server gets, in place of the request, a script that
// answers with that error, so that answers keep their order. Transactions and subscriptions pass. Healing:
// later requests pass.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lib/testing/server/server_connection.h"
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kLoading = "LOADING Redis is loading the dataset in memory";

std::shared_ptr<const std::string> request_for(const std::string& error) {
  const std::vector<std::string> words = {"EVAL", "return redis.error_reply(ARGV[1])", "0", error};
  return std::make_shared<const std::string>(format_command(words));
}

// Their answers are no single reply, or belong to the making of the connection.
bool stands_alone(const std::string_view command) {
  for (const std::string_view other :
       {"MULTI", "EXEC", "DISCARD", "HELLO", "AUTH", "SELECT", "CLIENT", "MONITOR", "SUBSCRIBE",
        "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE", "RESET", "QUIT"}) {
    if (command == other) return false;
  }
  return true;
}

}  // namespace

FaultKind error_reply_fault() {
  FaultKind kind{.name = "error-reply", .about = "requests are answered by an error, and not executed"};
  kind.keys = command_keys();
  kind.keys.push_back(
      {"error", FaultKey::Type::text, false,
       "the error, which begins with its code (default: that of a server that loads its data)"});
  kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<MessageFault>(config, Direction::request,
                                          Action{.instead = request_for(text_of(config, "error", kLoading))},
                                          [named = command_matcher(config)](const Message& message) {
                                            return stands_alone(message.command) && named(message);
                                          });
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const std::string error = text_of(config, "error", kLoading);
    const std::string code = error.substr(0, error.find(' '));
    if (std::string problem = one_probability(config); !problem.empty()) return problem;
    const bool upper =
        !code.empty() && std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    return upper && error.find_first_of("\r\n") == std::string::npos
               ? ""
               : "an `error` of one line that begins with its code, as \"BUSY Redis is busy running a "
                 "script\"";
  };
  return kind;
}

}  // namespace holdfast::sim
