// Both directions of a link as the proxy frames them: the same messages whole and byte by byte, and each
// whole one can be parsed.
#include <cstdlib>
#include <vector>

#include "sim/proxy/resp_framer.h"
#include "sim/proxy/resp_parse.h"
#include "tools/fuzz/target.h"

namespace {

using holdfast::sim::RespFramer;

std::size_t messages_of(std::string_view bytes, std::size_t piece, RespFramer::Grammar grammar) {
  RespFramer framer(grammar);
  std::size_t messages = 0;
  while (!bytes.empty()) {
    std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    while (!now.empty()) {
      const RespFramer::Step step = framer.scan(now);
      if (step.consumed == 0 || step.consumed > now.size()) std::abort();
      now.remove_prefix(step.consumed);
      messages += step.complete ? 1 : 0;
    }
  }
  return messages;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = holdfast::fuzz::text_of(data, size);
  for (const auto grammar :
       {RespFramer::Grammar::requests, RespFramer::Grammar::replies, RespFramer::Grammar::snapshot}) {
    if (messages_of(bytes, size, grammar) != messages_of(bytes, 1, grammar)) std::abort();
  }
  std::vector<std::string_view> arguments;
  if (holdfast::sim::parse_request(bytes, arguments) > size) std::abort();
  holdfast::redis::Reply reply;
  if (holdfast::sim::parse_reply(bytes, reply) > size) std::abort();
  return 0;
}
