#include "acknowledged.h"

#include <array>
#include <string>
#include <vector>

#include "../redis/failure.h"

namespace holdfast {
namespace {

std::string milliseconds(Duration time) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

using Command = std::vector<std::string_view>;

Command script_call(std::string_view name, std::string_view script, std::string_view count,
                    redis::Arguments keys, redis::Arguments args) {
  Command command{name, script, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

bool is_error(const redis::Reply& reply, std::string_view code) {
  return reply.type == redis::Reply::Type::error && reply.text.starts_with(code);
}

}  // namespace

Acknowledged eval_acknowledged(redis::Client& client, const LockOptions& options, const redis::Script& script,
                               redis::Arguments keys, redis::Arguments args,
                               const redis::CallOptions& call_options) {
  if (options.replicas <= 0) return {client.eval(script, keys, args, call_options), 0, true};
  const std::string count = std::to_string(keys.size()), replicas = std::to_string(options.replicas);
  const std::string timeout = milliseconds(options.replica_timeout);
  std::array<Command, 2> commands{script_call("EVALSHA", script.sha1, count, keys, args),
                                  Command{"WAIT", replicas, timeout}};
  std::vector<redis::Answer> answers = client.call_all(commands, call_options);
  if (is_error(answers[0].reply, "NOSCRIPT")) {
    commands[0] = script_call("EVAL", script.text, count, keys, args);
    answers = client.call_all(commands, call_options);
  }
  for (const redis::Answer& answer : answers) {
    if (answer.reply.type != redis::Reply::Type::error) continue;
    throw redis::rejection(answer.node, "EVALSHA", answer.reply);
  }
  const int acknowledged = static_cast<int>(answers[1].reply.integer);
  return {std::move(answers[0]), acknowledged, acknowledged >= options.replicas};
}

std::string too_few_replicas(const LockOptions& options, int replicas) {
  return "only " + std::to_string(replicas) + " of " + std::to_string(options.replicas) +
         " replicas acknowledged it within " + milliseconds(options.replica_timeout) + " ms";
}

}  // namespace holdfast
