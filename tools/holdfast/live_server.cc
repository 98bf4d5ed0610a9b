#include "tools/holdfast/live_server.h"

#include "lib/redis/error.h"
#include "lib/redis/url.h"
#include "lib/testing/server/missing.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {
namespace {

constexpr Duration kPatience = std::chrono::seconds(3);
constexpr std::size_t kLongestReply = std::size_t{64} << 20;  // keys of others may be long

redis::ClientOptions options_of(const std::vector<std::string>& urls, const std::string& password) {
  try {
    redis::ClientOptions options = redis::options_from_urls(urls);
    if (options.cluster)
      throw BadUsage("--url: a Redis Cluster is not supported, expected a Redis outside one");
    if (options.password.empty()) options.password = password;
    options.connect_timeout = options.command_timeout = kPatience;
    options.max_reply = kLongestReply;
    options.on_warning = [](std::string_view) {};  // nothing is locked here
    return options;
  } catch (const redis::BadUrl& error) {
    throw BadUsage(std::string("--url: ") + error.what());
  }
}

bool says(const redis::Error& error, std::string_view what) {
  return std::string_view(error.what()).find(what) != std::string_view::npos;
}

}  // namespace

LiveServer::LiveServer(const std::vector<std::string>& urls, const std::string& password) try
    : client_(runtime_, network_, options_of(urls, password)) {
} catch (const BadTls& error) {
  throw BadUsage(std::string("--url: ") + error.what());
}

void LiveServer::require_primary() {
  try {
    const redis::Answer role = client_.call({"ROLE"});
    address_ = role.node;
    if (role.reply.items.size() < 3 || role.reply.items[0].text == "master") return;
    throw Missing(address_ + " is a replica of " + role.reply.items[1].text + ":" +
                  std::to_string(role.reply.items[2].integer) +
                  ", expected the primary: what a replica has may be old");
  } catch (const redis::Error& error) {
    if (error.kind() != redis::Error::Kind::unsupported) throw Missing(error.what());
    if (says(error, "is a node of a Redis Cluster"))
      throw Missing(error.node() + " is a node of a Redis Cluster, expected a Redis outside one");
    if (says(error, "is a Sentinel"))
      throw Missing(error.node() + " is a Sentinel, expected a Redis that it watches");
    throw Missing(error.what());
  }
}

}  // namespace holdfast::tools
