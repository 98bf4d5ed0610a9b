#include "sim/watched/pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace holdfast::sim {
namespace {

redis::Reply integer(std::int64_t value) {
  redis::Reply reply;
  reply.type = redis::Reply::Type::integer;
  reply.integer = value;
  return reply;
}
redis::Reply text(std::string value) {
  redis::Reply reply;
  reply.type = redis::Reply::Type::bulk;
  reply.text = std::move(value);
  return reply;
}

std::string filled(const std::optional<Filled>& found) {
  if (!found) return "no match";
  std::string text;
  for (const auto& [hole, value] : *found) text += std::string(hole) + "=" + std::string(value) + " ";
  return text;
}

TEST(LinePattern, WordsThenOptionsInAnyOrder) {
  const LinePattern line = parse_line("SET $key $owner", {"NX", "PX $lease"});
  EXPECT_EQ(filled(line.match({"SET", "k", "me", "NX", "PX", "1000"})), "key=k lease=1000 owner=me ");
  EXPECT_EQ(filled(line.match({"set", "k", "me", "px", "1000", "nx"})), "key=k lease=1000 owner=me ");
  EXPECT_EQ(filled(line.match({"SET", "k", "me", "NX"})), "no match");
  EXPECT_EQ(filled(line.match({"SET", "k", "me", "NX", "PX"})), "no match");
  EXPECT_EQ(filled(line.match({"SET", "k", "me", "NX", "NX", "PX", "1"})), "no match");
  EXPECT_EQ(filled(line.match({"SET", "k", "me", "NX", "PX", "1", "GET"})), "no match");
  EXPECT_EQ(filled(line.match({"GET", "k"})), "no match");
}

TEST(LinePattern, HolesTextAroundThemAndTheRest) {
  EXPECT_EQ(filled(parse_line("$key ...").match({"a", "b", "c"})), "key=a ");
  EXPECT_EQ(filled(parse_line("* lock:$key:main").match({"x", "lock:stock:42:main"})), "key=stock:42 ");
  EXPECT_EQ(filled(parse_line("lock:$key").match({"stock"})), "no match");
  EXPECT_EQ(filled(parse_line("lock:$key:lock").match({"lock:lock"})), "no match");  // they share no letters
  EXPECT_EQ(filled(parse_line("$key $key").match({"a", "a"})), "key=a ");
  EXPECT_EQ(filled(parse_line("$key $key").match({"a", "b"})), "no match");
  EXPECT_EQ(filled(parse_line("").match({})), "");
}

TEST(LinePattern, MistakesAreNamed) {
  EXPECT_THROW(parse_line("SET $lock"), std::invalid_argument);
  EXPECT_THROW(parse_line("SET $key$owner"), std::invalid_argument);
  EXPECT_THROW(parse_line("... $key"), std::invalid_argument);
  EXPECT_THROW(parse_line("SET $key", {""}), std::invalid_argument);
}

TEST(AnswerPattern, SaysWhichAnswersItMeans) {
  redis::Reply nil, error = text("ERR no"), list;
  nil.type = redis::Reply::Type::nil;
  error.type = redis::Reply::Type::error;
  list.type = redis::Reply::Type::array;
  list.items = {integer(1), integer(500)};
  const std::pair<const char*, redis::Reply> yes[] = {
      {"OK", text("OK")},  {"1", integer(1)}, {"1", text("1")}, {"nil", nil},       {"number", integer(-2)},
      {"> 0", integer(2)}, {"list", list},    {"[1]", list},    {"text", text("")}, {"error", error}};
  for (const auto& [pattern, answer] : yes) EXPECT_TRUE(AnswerPattern(pattern).matches(answer)) << pattern;
  const std::pair<const char*, redis::Reply> no[] = {
      {"OK", text("ok")}, {"OK", error},         {"1", integer(0)},   {"nil", text("")}, {"nil", integer(0)},
      {"number", nil},    {"number", text("1")}, {"> 0", integer(0)}, {"[0]", list},     {"1", list},
      {"text", nil},      {"text", integer(1)},  {"ERR no", error}};
  for (const auto& [pattern, answer] : no) EXPECT_FALSE(AnswerPattern(pattern).matches(answer)) << pattern;
}

TEST(LockPattern, ScriptsAreKnownByPartsOfTheirText) {
  LockPattern pattern{.does = LockPattern::Does::release,
                      .script = {"call('get'", "call(\"del\""},
                      .not_script = {"call('set'"},
                      .keys = parse_line("$key"),
                      .args = parse_line("$owner ...")};
  const std::string compare =
      squeezed("if redis.call( 'GET', KEYS[1]) == ARGV[1] then\n return redis.pcall(\"del\", KEYS[1])");
  const auto sent = [](std::string_view script, Words keys, Words args) {
    return WatchedCommand{.words = {"EVAL"},
                          .calls_script = true,
                          .script = script,
                          .keys = std::move(keys),
                          .args = std::move(args)};
  };
  EXPECT_EQ(filled(pattern.match(sent(compare, {"k"}, {"me", "x"}))), "key=k owner=me ");
  EXPECT_EQ(filled(pattern.match(sent(compare, {"k"}, {}))), "no match");
  EXPECT_EQ(filled(pattern.match(sent(compare, {"k", "l"}, {"me"}))), "no match");
  EXPECT_EQ(filled(pattern.match(sent(compare + squeezed("redis.call('set'"), {"k"}, {"me"}))), "no match");
  EXPECT_EQ(filled(pattern.match(sent(squeezed("redis.call('hget')"), {"k"}, {"me"}))), "no match");
  EXPECT_EQ(filled(pattern.match(sent("", {"k"}, {"me"}))), "no match");  // nobody knows its text
  pattern.args = parse_line("$key");
  EXPECT_EQ(filled(pattern.match(sent(compare, {"k"}, {"l"}))), "no match");
}

}  // namespace
}  // namespace holdfast::sim
