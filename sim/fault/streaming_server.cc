// streaming-server: a reply that never ends. In place of the answer to a request the client gets the
// beginning of one, and then more and more of it, as from a server (or what was put in its place) that is
// broken or hostile. Other answers on that connection do not come any more. Healing: what streams is broken
// off, and later replies pass.
#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;

struct Shape {
  std::string_view name;
  std::string_view head, piece;
  std::size_t pieces;  // at a time
  Duration pause;
};

// The lengths are the longest that fit a signed 32 bit number; a `drip` is no longer than replies may be.
constexpr std::array kShapes = {Shape{"array", "*2147483647\r\n", ":1\r\n", 4096, milliseconds(1)},
                                Shape{"bulk", "$2147483647\r\n", "xxxx", 4096, milliseconds(1)},
                                Shape{"drip", "$1000000\r\n", "x", 1, milliseconds(10)}};

std::shared_ptr<const EndlessReply> reply_of(const std::string& name) {
  for (const Shape& shape : kShapes) {
    if (shape.name != name) continue;
    EndlessReply reply{.head = std::string(shape.head), .again = {}, .pause = shape.pause};
    for (std::size_t i = 0; i < shape.pieces; ++i) reply.again += shape.piece;
    return std::make_shared<const EndlessReply>(std::move(reply));
  }
  return nullptr;
}

}  // namespace

FaultKind streaming_server_fault() {
  FaultKind kind{.name = "streaming-server", .about = "requests are answered by a reply that never ends"};
  kind.keys = command_keys();
  kind.keys.push_back({"shape",
                       FaultKey::Type::text,
                       false,
                       "an array of 2147483647 items (the default) or a bulk of as many bytes, each 16 MB a "
                       "second; or a drip: 1000000 bytes, one every 10 ms",
                       {"array", "bulk", "drip"}});
  kind.must_end = kind.tells_hits = true;
  kind.problem = one_probability;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    Action action;
    action.kind = Action::Kind::stream;
    action.endless = reply_of(text_of(config, "shape", "array"));
    return std::make_unique<MessageFault>(config, Direction::reply, std::move(action),
                                          command_matcher(config));
  };
  return kind;
}

}  // namespace holdfast::sim
