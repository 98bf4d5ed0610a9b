// HistoryView: what is shown, and how positions in the view and in the file are translated.
#include "tools/holdfast/check_view.h"

#include <gtest/gtest.h>

#include "checker/history/history_jsonl.h"
#include "checker/testing/script_history.h"

namespace holdfast::tools {
namespace {

using checker::testing::history_of;

// Indices count from 100.
LoadedHistory loaded(std::string_view script, checker::Format format) {
  LoadedHistory result;
  const checker::History history = history_of(script);
  result.packed = checker::PackedHistory::pack(history);
  result.read.history = history.names();
  for (std::size_t i = 0; i < history.events().size(); ++i) result.read.index.push_back(100 + i);
  result.format = format;
  return result;
}

constexpr const char* kFailedRelease = R"(
  1 a invoke acquire k
  2 a ok acquire k
  3 a invoke release k
  4 a fail release k error=not-held
  5 b invoke acquire k
  6 b ok acquire k
)";

TEST(HistoryView, LeavesOutFailedReleasesOfJepsenOnly) {
  const LoadedHistory ours = loaded(kFailedRelease, checker::Format::jsonl);
  HistoryView all(ours);
  all.show_all();
  EXPECT_EQ(all.history().events().size(), 6U);
  EXPECT_EQ(all.failed_releases(), 0U);
  EXPECT_EQ(all.in_file(3), 3U);

  const LoadedHistory jepsen = loaded(kFailedRelease, checker::Format::jepsen_edn);
  HistoryView shown(jepsen);
  EXPECT_TRUE(shown.empty());
  shown.show_all();
  EXPECT_TRUE(shown.whole());
  ASSERT_EQ(shown.history().events().size(), 4U);
  EXPECT_EQ(shown.failed_releases(), 1U);
  EXPECT_EQ(shown.in_file(3), 5U);
  EXPECT_EQ(shown.indices(), (std::vector<std::uint64_t>{100, 101, 104, 105}));
  checker::Witness witness;
  witness.events = {0, 1, 4, 5};
  witness.acquires = std::pair(1, 5);
  EXPECT_TRUE(shown.translate(witness));
  EXPECT_EQ(witness.events, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(witness.acquires->second, 3U);
}

TEST(HistoryView, ShowsTheNeighbourhoodOfAViolation) {
  const LoadedHistory two = loaded(R"(
    1 a invoke acquire k
    2 a ok acquire k
    3 b invoke acquire j
    4 nemesis info fault kill value=1 error=crash
    5 b ok acquire j
    6 c invoke acquire k
    7 c ok acquire k
    8 c invoke release k
    9 c ok release k
  )",
                                   checker::Format::jsonl);
  HistoryView view(two);
  const checker::Symbol key = two.packed.event(6).key;
  view.show_around(6, key, {0, 1, 5, 6}, 2);
  EXPECT_FALSE(view.whole());
  // The witness, and two events of the key or of a fault on each side; nothing of the other key.
  EXPECT_EQ(view.indices(), (std::vector<std::uint64_t>{100, 101, 105, 106, 107, 108}));
  checker::Witness witness;
  witness.events = {0, 6};
  EXPECT_TRUE(view.translate(witness));
  EXPECT_EQ(witness.events, (std::vector<std::size_t>{0, 3}));
  witness.events = {2, 4};  // of the other key: not in the view
  EXPECT_FALSE(view.translate(witness));
  EXPECT_EQ(witness.events, (std::vector<std::size_t>{2, 4}));
}

}  // namespace
}  // namespace holdfast::tools
