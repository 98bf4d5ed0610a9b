#include "sim/external/told_line.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sim {
namespace {

using checker::EventType;
using checker::Function;

std::string problem_of(const std::string& line) {
  try {
    parse_told(line);
  } catch (const BadLine& bad) {
    return std::to_string(bad.column()) + ": " + bad.what();
  }
  return "";
}

TEST(ToldLine, HasWhatTheLineSays) {
  const ToldLine line = parse_told(
      R"( {"type": "ok", "f": "acquire", "key": "stock:42", "thread": 3, "id": "a-7", "mode": "read", "token": 17, "permits": 2, "valid_for_ms": 1.5} )");
  EXPECT_EQ(line.type, EventType::ok);
  EXPECT_EQ(line.f, Function::acquire);
  EXPECT_EQ(line.key, "stock:42");
  EXPECT_EQ(line.thread, 3);
  EXPECT_EQ(line.id, "a-7");
  EXPECT_EQ(line.mode, "read");
  EXPECT_EQ(line.token, 17);
  EXPECT_EQ(line.permits, 2u);
  EXPECT_EQ(line.valid_for_ns, 1'500'000);
  EXPECT_EQ(parse_told(R"({"type":"fail","f":"release","error":"not-owner"})").error, "not-owner");
  EXPECT_EQ(parse_told(R"({"type":"ok","f":"read","value":-4})").value, -4);
  EXPECT_EQ(parse_told(R"({"type":"invoke","f":"acquire","key":null})").key, "");
  EXPECT_EQ(parse_told(R"({"type":"ok","f":"renew","valid_for_ms":-3})").valid_for_ns, 0);
}

TEST(ToldLine, NonsenseIsRefusedWithItsColumn) {
  EXPECT_EQ(problem_of("hello"),
            R"(1: `hello` is no JSON, expected such as {"type":"invoke","f":"acquire"})");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire")").substr(0, 4), "27: ");
  EXPECT_EQ(problem_of("[1]").substr(0, 30), "1: `[1]` is no JSON object, ex");
  EXPECT_EQ(problem_of(R"({"type":"okay","f":"acquire"})"),
            R"(2: `type` is "okay", expected invoke, ok, fail or info)");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"lock"})"),
            R"(14: `f` is "lock", expected acquire, release, renew, lost, read, write, cas or sell)");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire","tocken":1})"), "28: unknown field `tocken`");
  EXPECT_EQ(problem_of(R"({"f":"acquire"})"), "1: has no `type`, expected invoke, ok, fail or info");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"read"})"),
            "1: has no `value`, expected what was read or written");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire","thread":"one"})"),
            R"(28: `thread` is "one", expected a whole number from 0 to 999)");
  EXPECT_EQ(problem_of(R"({"type":"invoke","f":"acquire","valid_for_ms":5})"),
            "32: `valid_for_ms` is 5, expected it with the `ok` of an acquire or a renewal only");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire","valid_for_ms":"5s"})"),
            R"(28: `valid_for_ms` is "5s", expected a number of milliseconds)");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire","token":1.5})").substr(0, 19), "28: `token` is 1.5,");
  EXPECT_EQ(problem_of(R"({"type":"ok","f":"acquire","mode":"shared"})"),
            R"(28: `mode` is "shared", expected "read" or "write")");
  EXPECT_NE(problem_of(std::string(R"({"type":"ok","f":"acquire","key":")") + std::string(300, 'x') + "\"}"),
            "");
  EXPECT_NE(problem_of("{\"type\":\"ok\",\"f\":\"acquire\",\"key\":\"\xff\"}"), "");
}

}  // namespace
}  // namespace holdfast::sim
