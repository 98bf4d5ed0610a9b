// The oracle finds every planted defect (checker/planted.h), and nothing where none is switched on. This is
// the program test_holdfast_planted: it is built with HOLDFAST_PLANTED_BUILD from the sources of the checker.
//
//   build/test_holdfast_planted --page results/planted-defects.md    # writes what found each
#include "checker/planted.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iostream>
#include <sstream>

#include "checker/testing/oracle.h"

namespace holdfast::checker::oracle {
namespace {

struct Planted {
  planted::Defect defect;
  const char *name, *file, *what;
};
constexpr Planted kPlanted[] = {
#define HOLDFAST_X(name, file, what) {planted::Defect::name, #name, file, what},
    HOLDFAST_PLANTED_DEFECTS(HOLDFAST_X)
#undef HOLDFAST_X
};

struct Found {
  std::uint64_t draws = 0;  // until it was found; 0: it was not
  std::string model, by;
  std::uint64_t seed = 0;
};

// Draws of all models in turns.
Found hunt(planted::Defect defect, std::uint64_t most) {
  planted::now = defect;
  Found found;
  const auto& models = drawn_models();
  for (std::uint64_t i = 0; i < most && found.draws == 0; ++i) {
    const std::string& model = models[i % models.size()];
    const std::uint64_t seed = i / models.size() + 1;
    const Difference difference = compare(model, seed);
    if (!difference.by.empty()) found = {.draws = i + 1, .model = model, .by = difference.by, .seed = seed};
  }
  planted::now = planted::Defect::none;
  return found;
}

constexpr std::uint64_t kMost = 200'000;

class PlantedDefects : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedDefects, IsFoundByTheOracle) {
  const Found found = hunt(GetParam().defect, kMost);
  ASSERT_GT(found.draws, 0U) << GetParam().name << ": " << GetParam().what;
  std::cout << GetParam().name << ": draw " << found.draws << ", " << found.model << " " << found.seed << ", "
            << found.by << "\n";
}
std::string name_of(const ::testing::TestParamInfo<Planted>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Each, PlantedDefects, ::testing::ValuesIn(kPlanted), name_of);

TEST(PlantedDefects, AreAtLeastFortyAndNoneIsFoundWhereNoneIs) {
  EXPECT_GE(std::size(kPlanted), 40U);
  EXPECT_EQ(hunt(planted::Defect::none, 5'000).draws, 0U);
}

TEST(PlantedDefects, StandOnTheirPage) {
  std::ifstream page(HOLDFAST_SOURCE_DIR "/results/planted-defects.md");
  std::stringstream text;
  text << page.rdbuf();
  for (const Planted& each : kPlanted) {
    EXPECT_NE(text.str().find("| `" + std::string(each.name) + "` |"), std::string::npos)
        << each.name << " is missing: test_holdfast_planted --page results/planted-defects.md";
  }
}

int write_page(const char* path) {
  std::ofstream out(path);
  out << "# Planted defects\n\n"
         "What could be wrong in readers, joining, holds, checks and engines, each planted alone "
         "([`checker/planted.h`](../checker/planted.h)), and which\n"
         "comparison of the oracle ([`checker/testing/oracle.h`](../checker/testing/oracle.h)) found it "
         "first, after how "
         "many drawn histories (of all models in turns).\n\n"
         "```console\n$ build/test_holdfast_planted --page results/planted-defects.md\n```\n\n"
         "| defect | file | what is wrong | draws | model and seed | found by |\n|---|---|---|---|---|---|\n";
  int missed = 0;
  for (const Planted& each : kPlanted) {
    const Found found = hunt(each.defect, kMost);
    missed += found.draws == 0 ? 1 : 0;
    out << "| `" << each.name << "` | `checker/" << each.file << "` | " << each.what << " | ";
    if (found.draws == 0) {
      out << "not found | | |\n";
    } else {
      out << found.draws << " | " << found.model << ", " << found.seed << " | " << found.by << " |\n";
    }
  }
  out << "\n"
      << std::size(kPlanted) << " defects, " << std::size(kPlanted) - static_cast<std::size_t>(missed)
      << " found.\n";
  out.flush();
  return out && missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::checker::oracle

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string(argv[1]) == "--page") return holdfast::checker::oracle::write_page(argv[2]);
  return RUN_ALL_TESTS();
}
