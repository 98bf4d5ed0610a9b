// drop-message: a published message gets lost on its way to one subscriber (Redis promises no delivery); the
// connection goes on. Healing: later messages pass.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

// ["message", channel, payload] or ["pmessage", pattern, channel, payload]
bool is_published(const Message& message, const std::string& channel) {
  if (!message.command.empty() || message.reply == nullptr || message.reply->items.size() < 3) return false;
  const auto& items = message.reply->items;
  return items[0].text.ends_with("message") && (channel.empty() || items[items.size() - 2].text == channel);
}

}  // namespace

FaultKind drop_message_fault() {
  FaultKind kind{.name = "drop-message", .about = "a published message never reaches its subscriber"};
  kind.keys = message_keys();
  kind.keys.insert(kind.keys.begin(),
                   {"channel", FaultKey::Type::text, false, "only messages of this channel (default: any)"});
  kind.tells_hits = true;
  kind.problem = one_probability;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<MessageFault>(config, Direction::reply, Action{Action::Kind::drop},
                                          [channel = text_of(config, "channel")](const Message& message) {
                                            return is_published(message, channel);
                                          });
  };
  return kind;
}

}  // namespace holdfast::sim
