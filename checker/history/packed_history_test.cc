// A packed history gives back every event.
#include "checker/history/packed_history.h"

#include <gtest/gtest.h>

#include "checker/history/history_jsonl.h"
#include "checker/testing/draw_history.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

TEST(PackedHistory, GivesBackEveryField) {
  History history = testing::history_of(R"(
    10    c1/0 invoke acquire k
    12    c1/0 ok     acquire k id=c1-1 owner=c1:0 node=r1 valid=5010 token=-3 permits=2 mode=read
    13    c1/0 info   release k error=timeout
    14    nemesis info fault kill value=1 error=crash
  )");
  Event many = history.events()[0];
  for (const Symbol process : {PackedHistory::kManyProcesses, PackedHistory::kManyProcesses - 1}) {
    many.process = process;  // no text: only its number is looked at
    const PackedHistory packed = [&] {
      PackedHistory result(history);
      result.append(many);
      return result;
    }();
    EXPECT_EQ(packed.event(0).process, process);
  }
  for (int i = 0; i < 12; ++i) {  // over the end of a block, with and without other fields
    for (std::size_t at = 0; at < 4; ++at) history.append(history.events()[at]);
  }
  const DrawnHistory drawn = draw_lock_history({.operations = 9000});
  for (const History& each : {history, drawn.history}) {
    const PackedHistory packed = PackedHistory::pack(each);
    ASSERT_EQ(packed.size(), each.events().size());
    EXPECT_EQ(to_jsonl(packed.unpack()), to_jsonl(each));
    const std::vector<std::size_t> some = {1, packed.size() / 2, packed.size() - 1};
    EXPECT_EQ(to_jsonl(packed.subset(some)), to_jsonl(each.subset(some)));
  }
  EXPECT_LT(PackedHistory::pack(drawn.history).bytes() / 9000, 50U);
}

}  // namespace
}  // namespace holdfast::checker
