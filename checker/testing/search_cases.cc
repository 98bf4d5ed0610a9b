#include "checker/testing/search_cases.h"

#include "checker/testing/random.h"

namespace holdfast::checker {

std::vector<SearchCase> search_cases(std::size_t count) {
  // Where searches are known to differ most come first: many unknown outcomes, many clients.
  std::vector<SearchCase> cases;
  for (const bool invalid : {false, true}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      cases.push_back(
          {{.model = "cas-register", .clients = 5, .unknown = 0.058, .seed = seed, .invalid = invalid}});
      cases.push_back(
          {{.model = "cas-register", .clients = 40, .unknown = 0, .seed = seed, .invalid = invalid}});
    }
  }
  constexpr const char* kModels[] = {"cas-register", "register",    "mutex",     "mutex-anonymous",
                                     "fenced-mutex", "read-write",  "semaphore", "reentrant-mutex",
                                     "fair",         "cas-register"};
  constexpr std::uint64_t kOperations[] = {50, 200, 500, 1000, 2000};
  constexpr std::uint32_t kClients[] = {2, 5, 10, 20, 40};
  constexpr double kUnknown[] = {0, 0.005, 0.02, 0.06};
  testing::Random random(14);
  const auto one_of = [&](const auto& values) {
    return values[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(std::size(values)) - 1))];
  };
  for (std::size_t i = 0; cases.size() < count; ++i) {
    DrawOperations draw;
    draw.model = kModels[i % std::size(kModels)];
    draw.operations = one_of(kOperations);
    draw.clients = one_of(kClients);
    draw.unknown = one_of(kUnknown);
    draw.invalid = random.chance(0.5);
    draw.seed = i;
    draw.options.permits = random.between(2, 6);
    draw.resize = draw.model == "semaphore" && random.chance(0.5) ? 0.01 : 0;
    cases.push_back({draw});
  }
  return cases;
}

}  // namespace holdfast::checker
