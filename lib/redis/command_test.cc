#include "lib/redis/command.h"

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

TEST(Command, IsAnArrayOfBulkStrings) {
  const std::array<std::string_view, 2> head = {"SET", "key"};
  const std::array<std::string_view, 1> rest = {"a\r\nb"};
  const CommandView command{{head, rest, {}}};
  std::string out = "before";
  append_command(out, command);
  EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$4\r\na\r\nb\r\n");
  EXPECT_EQ(command.name(), "SET");
}

TEST(Command, EmptyAndBinaryArguments) {
  const std::array<std::string_view, 3> arguments = {"X", "", std::string_view("\0\xff", 2)};
  std::string out;
  append_command(out, {{arguments, {}, {}}});
  EXPECT_EQ(out, std::string("*3\r\n$1\r\nX\r\n$0\r\n\r\n$2\r\n\0\xff\r\n", 25));
}

}  // namespace
}  // namespace holdfast::redis
