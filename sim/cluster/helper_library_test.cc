#include "sim/cluster/helper_library.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast::sim {
namespace {

TEST(HelperLibrary, IsBesideTheProgramThatRuns) {
  for (const char* file : {"holdfast_clock_shim.so", "holdfast_program_shim.so"}) {
    const std::filesystem::path path = helper_library(file);
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_EQ(path.parent_path(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
  }
}

TEST(HelperLibrary, IsNamedBesideTheProgramWhereItIsNowhere) {
  EXPECT_EQ(std::filesystem::path(helper_library("none.so")).parent_path(),
            std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace holdfast::sim
