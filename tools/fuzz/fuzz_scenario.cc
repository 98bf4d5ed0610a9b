// A scenario file: its variants, or BadScenario with the place.
#include "sim/scenario/problem.h"
#include "sim/scenario/scenario.h"
#include "tools/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    static_cast<void>(holdfast::sim::parse_scenarios(holdfast::fuzz::text_of(data, size), "f.toml"));
  } catch (const holdfast::sim::BadScenario&) {
  }
  return 0;
}
