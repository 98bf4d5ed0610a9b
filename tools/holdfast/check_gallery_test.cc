// `holdfast check` on drawn histories with a known verdict.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "checker/testing/gallery.h"
#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

TEST(CheckGallery, HasTheKnownVerdicts) {
  const TemporaryFolder folder;
  for (const checker::testing::KnownHistory& known : checker::testing::gallery()) {
    const bool log = known.format == checker::Format::jepsen_log;
    const std::string path = folder.path() + "/" + known.name + (log ? ".log" : ".edn");
    std::ofstream(path) << text_of(known);
    const std::string witness = testing::expect_known_verdict(path, known.verdict);
    if (known.verdict.model == "mutex" && !known.verdict.valid) {
      EXPECT_LE(std::count(witness.begin(), witness.end(), '\n'), 8) << known.name << "\n" << witness;
    }
  }
}

}  // namespace
}  // namespace holdfast::tools
