#include "sim/external/secrets.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(Secrets, WhatANameSaysIsSecretIsMaskedEverywhere) {
  Secrets secrets;
  secrets.learn("REDIS_PASSWORD", "hunter2");
  secrets.learn("MY_TOKEN", "hunter2-and-more");
  secrets.learn("MODE", "blue");
  secrets.learn("PWD", "/srv/me");
  secrets.learn("EMPTY_SECRET", "");
  secrets.learn("BYPASS_CACHE", "1");
  EXPECT_EQ(secrets.masked("hunter2 hunter2-and-more blue /srv/me 1"), "*** *** blue /srv/me 1");
}

TEST(Secrets, ThePasswordOfAUrlIsMaskedAsItStandsAndAsItIsMeant) {
  Secrets secrets;
  secrets.learn("REDIS", "redis://me:p%40ss@one:1/0,redis://:other/x@two:2/0");
  EXPECT_EQ(secrets.masked("p%40ss p@ss other/x me"), "*** *** *** me");
  EXPECT_EQ(secrets.masked("AUTH failed for redis://me:p%40ss@one:1/0"),
            "AUTH failed for redis://me:***@one:1/0");
}

TEST(Secrets, APasswordThatNobodyGaveIsMaskedInAUrlOnly) {
  const Secrets none;
  EXPECT_EQ(none.masked("no redis://:abc@h:1/0, rediss://u:d@e@h:2; abc"),
            "no redis://:***@h:1/0, rediss://u:***@h:2; abc");
  for (const char* const harmless :
       {"redis://h:1/0", "http://h/a:b@c", "redis://u@h:1", "a://", "://:@", "x:y@z"})
    EXPECT_EQ(none.masked(harmless), harmless);
}

}  // namespace
}  // namespace holdfast::sim
