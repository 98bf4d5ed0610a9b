// Which slot a command belongs to. That the slots are those of the server: lib/lock/engine/key_names_test.cc.
#include "lib/redis/hash_slot.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace holdfast::redis {
namespace {

CommandSlot slot(const std::vector<std::string_view>& words) { return slot_of({{words, {}, {}}}); }

TEST(HashSlot, OfACommandIsThatOfItsKeys) {
  const std::uint16_t a = hash_slot("{a}"), b = hash_slot("{b}");
  ASSERT_NE(a, b);
  EXPECT_EQ(hash_slot("foo"), 12182);  // as the documentation of CLUSTER KEYSLOT has it
  EXPECT_EQ(hash_slot("foo{hash_tag}"), 2515);
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"GET", "{a}1"},
                                                  {"set", "{a}1", "{b}"},
                                                  {"EVALSHA", "x", "2", "{a}1", "{a}2", "{b}"},
                                                  {"eval", "return 1", "1", "{a}1"},
                                                  {"DEL", "{a}1", "{a}2"},
                                                  {"MSET", "{a}1", "{b}", "{a}2", "{b}"},
                                                  {"RENAME", "{a}1", "{a}2"},
                                                  {"PUBLISH", "{a}1", "{b}"}}) {
    EXPECT_EQ(slot(words).slot, a) << words[0];
    EXPECT_FALSE(slot(words).several) << words[0];
  }
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"EVALSHA", "x", "2", "{a}1", "{b}1"},
                                                  {"DEL", "{a}1", "{b}2"},
                                                  {"mset", "{a}1", "1", "{b}", "2"},
                                                  {"RENAME", "{a}1", "{b}2"}})
    EXPECT_TRUE(slot(words).several) << words[0];
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"PING"},
                                                  {"wait", "1", "100"},
                                                  {"MULTI"},
                                                  {"SCRIPT", "LOAD", "return 1"},
                                                  {"EVAL", "return 1", "0", "{a}"},
                                                  {"EVAL", "return 1", "7", "{a}"},  // the server refuses it
                                                  {"EVAL", "return 1", "x"},
                                                  {"GET"}})
    EXPECT_FALSE(slot(words).slot) << words[0];
}

// The parts of a CommandView are one command.
TEST(HashSlot, OfACommandInParts) {
  const std::vector<std::string_view> head = {"EVALSHA", "x", "2"}, keys = {"{a}1", "{a}2"}, args = {"{b}"};
  EXPECT_EQ(slot_of({{head, keys, args}}).slot, hash_slot("{a}"));
  EXPECT_FALSE(slot_of({{head, keys, args}}).several);
}

}  // namespace
}  // namespace holdfast::redis
