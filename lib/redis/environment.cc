// Options from the environment: the one place of the library that looks at it.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/redis/url.h"

namespace holdfast::redis {
namespace {

// "" when it is not set.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void fill(std::string& into, const char* name) {
  if (into.empty()) into = variable(name);
}

}  // namespace

ClientOptions options_from_environment() {
  const std::string text = variable("HOLDFAST_REDIS_URL");
  std::vector<std::string> urls;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    urls.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  if (urls.empty())
    throw BadUrl(
        "bad Redis URL: $HOLDFAST_REDIS_URL is not set, expected one such as redis://localhost:6379, or "
        "several");
  ClientOptions options = options_from_urls(urls);
  if (options.password.empty()) {
    fill(options.user, "HOLDFAST_REDIS_USER");
    fill(options.password, "HOLDFAST_REDIS_PASSWORD");
  }
  if (!options.sentinels.empty()) fill(options.sentinel_password, "HOLDFAST_REDIS_SENTINEL_PASSWORD");
  if (options.tls) fill(options.tls->key_password, "HOLDFAST_REDIS_KEY_PASSWORD");
  if (!options.user.empty() && options.password.empty())
    throw BadUrl("bad Redis URL: $HOLDFAST_REDIS_USER is set, and $HOLDFAST_REDIS_PASSWORD is not");
  return options;
}

}  // namespace holdfast::redis
