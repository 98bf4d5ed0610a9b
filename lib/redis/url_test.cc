#include "lib/redis/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Of views: g++ 12 takes strings in a table for uninitialised (-Wmaybe-uninitialized) when it optimises.
struct Good {
  struct Place {
    std::string_view host;
    std::uint16_t port;
  };
  std::string_view url;
  Place at;
  std::string_view user = {}, password = {};
  int database = 0;
};

TEST(RedisUrl, WhatIsMeant) {
  const std::vector<Good> cases = {
      {"redis://localhost", {"localhost", 6379}},
      {"REDIS://localhost/", {"localhost", 6379}},
      {"redis://10.0.0.1:7000/15", {"10.0.0.1", 7000}, "", "", 15},
      {"redis://h?db=3", {"h", 6379}, "", "", 3},
      {"redis://:secret@h:1", {"h", 1}, "", "secret"},
      {"redis://me:secret@h/1", {"h", 6379}, "me", "secret", 1},
      {"redis://me:a:b@h", {"h", 6379}, "me", "a:b"},
      {"redis://me:a@b@h", {"h", 6379}, "me", "a@b"},
      {"redis://m%40e:%2F%3f%25%3A@h", {"h", 6379}, "m@e", "/?%:"},
      {"redis://[::1]", {"::1", 6379}},
      {"redis://u:p@[fe80::1%25eth0]:6380/2", {"fe80::1%eth0", 6380}, "u", "p", 2},
      {"unix:///run/redis.sock", {"/run/redis.sock", 0}},
      {"unix:///run/a%20b@c.sock?db=4", {"/run/a b@c.sock", 0}, "", "", 4},
      {"unix://:pw@/tmp/x", {"/tmp/x", 0}, "", "pw"},
      {"unix://me:p%2Fw@/tmp/x?db=1", {"/tmp/x", 0}, "me", "p/w", 1},
  };
  for (const Good& good : cases) {
    const ClientOptions options = options_from_url(std::string(good.url));
    ASSERT_EQ(options.nodes.size(), 1u) << good.url;
    EXPECT_EQ(options.nodes[0].endpoint, (Endpoint{std::string(good.at.host), good.at.port})) << good.url;
    EXPECT_EQ(options.user, good.user) << good.url;
    EXPECT_EQ(options.password, good.password) << good.url;
    EXPECT_EQ(options.database, good.database) << good.url;
  }
}

std::string refusal(const std::vector<std::string>& urls) {
  try {
    options_from_urls(urls);
  } catch (const BadUrl& error) {
    return error.what();
  }
  return "none";
}

TEST(RedisUrl, WhatIsWrongIsSaid) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no scheme"},
      {"localhost:6379", "no scheme"},
      {"//localhost", "no scheme"},
      {"redis://", "no host"},
      {"redis://:6379", "no host"},
      {"redis://h:", "port must be a number"},
      {"redis://h:0", "port must be a number from 1 to 65535"},
      {"redis://h:65536", "port must be a number"},
      {"redis://h:+1", "port must be a number"},
      {"redis://h/x", "database must be a number"},
      {"redis://h/-1", "database must be a number"},
      {"redis://h/99999999999", "database must be a number"},
      {"redis://h/1/2", "database must be a number"},
      {"redis://h/1?db=1", "twice"},
      {"redis://h?timeout=3", "only come db=N"},
      {"redis://h#x", "#"},
      {"redis://me@h", "user without a password"},
      {"redis://me:@h", "empty password"},
      {"redis://me:p%4@h", "two hex digits"},
      {"redis://me:p%00@h", "zero byte"},
      {"redis://me:p@h h", "blank"},
      {"redis://::1", "no host"},
      {"redis://fe80::1", "brackets"},
      {"redis://[::1", "has no ]"},
      {"redis://[::1]x", "behind the ]"},
      {"redis://[h]", "IPv6"},
      {"redis://a,b", "one URL names one host"},
      {"unix://run/redis.sock", "begins with a /"},
      {"unix://redis.sock", "begins with a /"},
      {"unix:///", "path of a unix socket is missing"},
      {"unix:///" + std::string(200, 'x'), "107 bytes"},
  };
  for (const auto& [url, what] : cases) {
    EXPECT_THAT(refusal({url}), HasSubstr(what)) << url;
    EXPECT_THAT(refusal({url}), HasSubstr("supported are redis://")) << url;
  }
}

TEST(RedisUrl, SchemesWhoseTimeHasNotComeAreNamed) {
  for (const std::string scheme :
       {"rediss", "redis-sentinel", "redis+sentinel", "redis-cluster", "redis-socket", "http"}) {
    EXPECT_THAT(refusal({scheme + "://u:hunter2@h"}), HasSubstr("`" + scheme + "://` is not supported"));
    EXPECT_THAT(refusal({scheme + "://u:hunter2@h"}), HasSubstr("supported are redis://"));
  }
}

TEST(RedisUrl, NoErrorShowsASecret) {
  for (const std::string url :
       {"redis://me:hunter2@h:x", "redis://me:hunter2/@h", "redis://me:hunter2?@h", "redis://:hunter2%zz@h",
        "redis://hunter2@h", "redis://me:hunter2@", "rediss://me:hunter2@h", "redis://me:hunter2@h/x",
        "redis://me:hunter2", "redis://hunter2,x", "unix://me:hunter2@x", "unix://me:hun/hunter2@/x",
        "me:hunter2@h", "redis://me: hunter2@h"}) {
    const std::string text = refusal({url});
    EXPECT_NE(text, "none") << url;
    EXPECT_THAT(text, Not(HasSubstr("hunter2"))) << url;
  }
  EXPECT_THAT(refusal({"redis://me:hunter2@a", "redis://me:hunter3@b"}), Not(HasSubstr("hunter")));
}

TEST(RedisUrl, SeveralAreOneReplicatedSet) {
  const std::vector<std::string> urls = {"redis://u:p@a/3", "redis://u:p@b:7000/3", "unix://u:p@/c?db=3"};
  const ClientOptions options = options_from_urls(urls);
  ASSERT_EQ(options.nodes.size(), 3u);
  EXPECT_EQ(options.nodes[1].endpoint, (Endpoint{"b", 7000}));
  EXPECT_EQ(options.password, "p");
  EXPECT_EQ(options.database, 3);

  EXPECT_THAT(refusal({}), HasSubstr("there is none"));
  EXPECT_THAT(refusal({"redis://a", "redis://b/1"}), HasSubstr("must agree"));
  EXPECT_THAT(refusal({"redis://:p@a", "redis://b"}), HasSubstr("must agree"));
  EXPECT_THAT(refusal({"redis://u:p@a", "redis://v:p@b"}), HasSubstr("must agree"));
  EXPECT_THAT(refusal({"redis://a", "redis://a:6379"}), HasSubstr("a:6379 is there twice"));
}

}  // namespace
}  // namespace holdfast::redis
