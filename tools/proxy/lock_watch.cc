#include "tools/proxy/lock_watch.h"

#include <utility>

namespace holdfast::tools {

using checker::Event;
using checker::History;
using nlohmann::json;

LockWatch::LockWatch(sim::World& world, const sim::Recogniser& recogniser, Recording* recording)
    : world_(world), recording_(recording), recorder_(world), watcher_(recorder_, recogniser) {}

void LockWatch::see(const sim::Message& message, const std::string& client) {
  sim::Link link = message.link;
  link.from = client;
  watcher_.see({.link = link,
                .direction = message.direction,
                .bytes = message.bytes,
                .command = message.command,
                .arguments = message.arguments,
                .reply = message.reply,
                .exchange = message.exchange,
                .request = message.request});
  write();
}

void LockWatch::became(std::uint64_t exchange, sim::Fate fate) {
  watcher_.became(exchange, fate);
  write();
}

void LockWatch::finish() {
  std::vector<Event> late = watcher_.given_up();
  static_cast<void>(watcher_.take_given_up());
  for (const Event& event : late) recorder_.history().append(event);
  write();
}

// Nothing stays in memory, neither events nor their names.
void LockWatch::write() {
  History& history = recorder_.history();
  const std::vector<Event> late = watcher_.take_given_up();
  if (late.empty() && history.events().empty()) return;
  if (recording_ != nullptr) {
    History all = history.names();
    for (const Event& event : late) all.append(event);
    for (const Event& event : history.events()) all.append(event);
    recording_->write(all);
  }
  history = History();
}

json LockWatch::held() const {
  constexpr std::int64_t kMs = 1'000'000;
  const std::int64_t now = world_.now_ns();
  json list = json::array();
  for (const sim::Watcher::Held& hold : watcher_.held()) {
    json one = {{"key", hold.key}, {"client", hold.client}, {"held_ms", (now - hold.since_ns) / kMs}};
    if (hold.until_ns != checker::kAbsent) one["lease_left_ms"] = (hold.until_ns - now) / kMs;
    if (hold.shared) one["shared"] = true;
    if (hold.permits > 0) one["permits"] = hold.permits;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace holdfast::tools
