#include "sim/cluster/sentinel_watch.h"

#include <chrono>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lib/testing/server/server_connection.h"

namespace holdfast::sim {
namespace {

std::string field(const redis::Reply& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
    if (fields.items[i].text == name) return fields.items[i + 1].text;
  }
  return "";
}

}  // namespace

bool knows_them_all(const redis::Reply& primary, std::size_t replicas, std::size_t others) {
  return field(primary, "flags") == "master" && field(primary, "num-slaves") == std::to_string(replicas) &&
         field(primary, "num-other-sentinels") == std::to_string(others);
}

bool all_are_well(const redis::Reply& replicas) {
  for (const redis::Reply& replica : replicas.items) {
    if (field(replica, "flags") != "slave" || field(replica, "runid").empty() ||
        field(replica, "master-link-status") != "ok")
      return false;
  }
  return true;
}

SentinelWatch::SentinelWatch(World& world, std::string primary, Cluster& cluster)
    : world_(world), primary_(std::move(primary)), cluster_(cluster) {}

void SentinelWatch::listen(const Endpoint& address) {
  world_.harness().start("roles", [this, address] {
    Process& harness = world_.harness();
    for (;;) {
      try {
        ServerConnection connection(harness.network(), address,
                                    deadline_after(harness.runtime().now(), std::chrono::seconds(10)));
        const std::vector<std::string> subscribe = {"SUBSCRIBE",          "+promoted-slave",
                                                    "+switch-master",     "+convert-to-slave",
                                                    "+slave-reconf-sent", "+fix-slave-config"};
        connection.send(format_command(subscribe), kNever);
        while (const std::optional<std::string> raw = connection.read_raw(kNever)) {
          redis::Reply message;
          parse_reply(*raw, &message);
          if (message.items.size() == 3 && message.items[0].text == "message")
            hear(message.items[1].text, message.items[2].text);
        }
      } catch (const std::runtime_error&) {  // it is down: it may come back
      }
      harness.runtime().sleep_for(std::chrono::milliseconds(50));
    }
  });
}

void SentinelWatch::tell(const std::string& node, bool primary) const {
  if (cluster_.on_role_changed) cluster_.on_role_changed(node, primary);
}

void SentinelWatch::hear(const std::string& channel, const std::string& text) {
  std::istringstream words(text);
  std::string host, skipped;
  std::uint16_t port = 0;
  // "slave NAME HOST PORT @ ...", or "PRIMARY OLD-HOST OLD-PORT HOST PORT"
  words >> skipped >> skipped;
  if (channel == "+switch-master") words >> skipped;
  words >> host >> port;
  const auto found = names_.find({host, port});
  if (found == names_.end()) return;
  const std::string& name = found->second;
  if (channel == "+slave-reconf-sent" || channel == "+fix-slave-config") {
    if (cluster_.on_replica_turned) cluster_.on_replica_turned(name);
  } else if (channel == "+convert-to-slave") {
    if (!std::exchange(demoted_[name], true)) tell(name, false);
  } else if (name != primary_) {
    primary_ = name;
    demoted_[name] = false;
    tell(name, true);
  }
}

}  // namespace holdfast::sim
