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

TEST(RedisUrl, UnknownSchemesAreNamed) {
  for (const std::string scheme : {"redis-sentinel", "redis-cluster", "redis-socket", "redissss", "http"}) {
    EXPECT_THAT(refusal({scheme + "://u:hunter2@h"}), HasSubstr("`" + scheme + "://` is not supported"));
    EXPECT_THAT(refusal({scheme + "://u:hunter2@h"}), HasSubstr("supported are redis://"));
  }
}

TEST(RedisUrl, Sentinels) {
  const ClientOptions options = options_from_url(
      "redis+sentinel://me:secret@a,b:7,[::1]:9/my%2Fmaster/3?sentinel_user=s&sentinel_password=p%26w");
  ASSERT_EQ(options.sentinels.size(), 3u);
  EXPECT_EQ(options.sentinels[0].endpoint, (Endpoint{"a", 26379}));
  EXPECT_EQ(options.sentinels[1].endpoint, (Endpoint{"b", 7}));
  EXPECT_EQ(options.sentinels[2].endpoint, (Endpoint{"::1", 9}));
  EXPECT_TRUE(options.nodes.empty());
  EXPECT_EQ(options.primary_name, "my/master");
  EXPECT_EQ(options.database, 3);
  EXPECT_EQ(options.user, "me");
  EXPECT_EQ(options.password, "secret");
  EXPECT_EQ(options.sentinel_user, "s");
  EXPECT_EQ(options.sentinel_password, "p&w");
  EXPECT_FALSE(options.tls);
  EXPECT_EQ(options_from_url("redis+sentinel://a/m?db=2").database, 2);
  EXPECT_EQ(options_from_url("redis+sentinel://a/m").database, 0);

  EXPECT_THAT(refusal({"redis+sentinel://a,b"}), HasSubstr("what the Sentinels call the primary is missing"));
  EXPECT_THAT(refusal({"redis+sentinel://a,b/"}),
              HasSubstr("what the Sentinels call the primary is missing"));
  EXPECT_THAT(refusal({"redis+sentinel://a,,b/m"}), HasSubstr("no host"));
  EXPECT_THAT(refusal({"redis+sentinel://a,a:26379/m"}), HasSubstr("a:26379 is there twice"));
  EXPECT_THAT(refusal({"redis+sentinel://a/m/x"}), HasSubstr("database must be a number"));
  EXPECT_THAT(refusal({"redis+sentinel://a/m/1?db=2"}), HasSubstr("twice"));
  EXPECT_THAT(refusal({"redis+sentinel://a/m?sentinel_user=u"}), HasSubstr("without a sentinel_password"));
  EXPECT_THAT(refusal({"redis+sentinel://a/m", "redis://b"}), HasSubstr("stand in one URL"));
}

TEST(RedisUrl, Cluster) {
  const ClientOptions options = options_from_url("redis+cluster://:pw@a,b:7001/");
  EXPECT_TRUE(options.cluster);
  ASSERT_EQ(options.nodes.size(), 2u);
  EXPECT_EQ(options.nodes[0].endpoint, (Endpoint{"a", 6379}));
  EXPECT_EQ(options.nodes[1].endpoint, (Endpoint{"b", 7001}));
  EXPECT_EQ(options.password, "pw");
  EXPECT_EQ(options_from_url("redis+cluster://a/0").database, 0);
  EXPECT_THAT(refusal({"redis+cluster://a/1"}), HasSubstr("database 0 alone"));
  EXPECT_THAT(refusal({"redis+cluster://a?db=0"}), HasSubstr("behind the ? may only come nothing"));
  EXPECT_THAT(refusal({"redis://a", "redis+cluster://b"}), HasSubstr("stand in one URL"));
}

TEST(RedisUrl, Tls) {
  const ClientOptions plain = options_from_url("rediss://me:secret@h:1/2");
  ASSERT_TRUE(plain.tls);
  EXPECT_EQ(*plain.tls, TlsOptions());
  EXPECT_EQ(plain.nodes[0].endpoint, (Endpoint{"h", 1}));
  EXPECT_EQ(plain.database, 2);
  const ClientOptions full = options_from_url(
      "rediss://h?ca_file=/a%20b.pem&ca_folder=/c&certificate_file=/d&key_file=/"
      "e&key_password=f%26&server_name=g"
      "&minimum_version=1.3&insecure_accept_any_certificate=yes&db=4");
  EXPECT_EQ(*full.tls, (TlsOptions{.ca_file = "/a b.pem",
                                   .ca_folder = "/c",
                                   .certificate_file = "/d",
                                   .key_file = "/e",
                                   .key_password = "f&",
                                   .server_name = "g",
                                   .minimum_version = TlsVersion::tls_1_3,
                                   .insecure_accept_any_certificate = true}));
  EXPECT_EQ(full.database, 4);
  EXPECT_TRUE(options_from_url("rediss+sentinel://a/m?ca_file=/x").tls);
  EXPECT_EQ(options_from_url("rediss+cluster://a?ca_file=/x").tls->ca_file, "/x");

  EXPECT_THAT(refusal({"rediss://h?ca_file="}), HasSubstr("ca_file is empty"));
  EXPECT_THAT(refusal({"rediss://h?ca_file=/a&ca_file=/b"}), HasSubstr("ca_file is there twice"));
  EXPECT_THAT(refusal({"rediss://h?key_file=/a"}), HasSubstr("belong together"));
  EXPECT_THAT(refusal({"rediss://h?minimum_version=1.1"}), HasSubstr("must be 1.2 or 1.3"));
  EXPECT_THAT(refusal({"rediss://h?insecure_accept_any_certificate=no"}), HasSubstr("may only be yes"));
  EXPECT_THAT(refusal({"rediss://h?verify=no"}), HasSubstr("`verify` means nothing here"));
  for (const char* const url :
       {"redis://h?ca_file=/a", "redis+sentinel://h/m?ca_file=/a", "redis+cluster://h?ca_file=/a"})
    EXPECT_THAT(refusal({url}),
                HasSubstr("ca_file means nothing without TLS: write rediss instead of redis"));
  EXPECT_THAT(refusal({"rediss://a", "redis://b"}), HasSubstr("must agree"));
}

TEST(RedisUrl, FromTheEnvironment) {
  const auto with = [](std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const char* const name : {"HOLDFAST_REDIS_URL", "HOLDFAST_REDIS_USER", "HOLDFAST_REDIS_PASSWORD",
                                   "HOLDFAST_REDIS_SENTINEL_PASSWORD", "HOLDFAST_REDIS_KEY_PASSWORD"}) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  };
  with({{"HOLDFAST_REDIS_URL", " rediss://a/1  rediss://b:7/1 "},
        {"HOLDFAST_REDIS_USER", "u"},
        {"HOLDFAST_REDIS_PASSWORD", "p"},
        {"HOLDFAST_REDIS_KEY_PASSWORD", "k"}});
  const ClientOptions set = options_from_environment();
  ASSERT_EQ(set.nodes.size(), 2u);
  EXPECT_EQ(set.nodes[1].endpoint, (Endpoint{"b", 7}));
  EXPECT_EQ(set.user, "u");
  EXPECT_EQ(set.password, "p");
  EXPECT_EQ(set.tls->key_password, "k");
  EXPECT_EQ(set.sentinel_password, "");

  with({{"HOLDFAST_REDIS_URL", "redis+sentinel://:url@a/m"},
        {"HOLDFAST_REDIS_PASSWORD", "other"},
        {"HOLDFAST_REDIS_SENTINEL_PASSWORD", "s"}});
  EXPECT_EQ(options_from_environment().password, "url") << "what the URL has comes first";
  EXPECT_EQ(options_from_environment().sentinel_password, "s");

  with({});
  EXPECT_THROW(options_from_environment(), BadUrl);
  with({{"HOLDFAST_REDIS_URL", "redis://a"}, {"HOLDFAST_REDIS_USER", "u"}});
  EXPECT_THROW(options_from_environment(), BadUrl);
  with({});
}

TEST(RedisUrl, NoErrorShowsASecret) {
  for (const std::string url :
       {"redis://me:hunter2@h:x", "redis://me:hunter2/@h", "redis://me:hunter2?@h", "redis://:hunter2%zz@h",
        "redis://hunter2@h", "redis://me:hunter2@", "rediss://me:hunter2@h?x=1", "redis://me:hunter2@h/x",
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
