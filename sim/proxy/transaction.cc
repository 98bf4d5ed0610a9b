#include "sim/proxy/transaction.h"

#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {

void each_queued(std::string_view request, const QueuedCommand& with) {
  std::vector<std::string_view> command;
  std::size_t index = 0;
  bool queued = false;  // after MULTI
  while (!request.empty()) {
    const std::size_t size = parse_request(request, command);
    if (size == 0) return;
    request.remove_prefix(size);
    const bool multi = !command.empty() && upper_case(command.front()) == "MULTI";
    if (queued && !multi && !request.empty()) with(command, index++);
    queued = queued || multi;
  }
}

}  // namespace holdfast::sim
