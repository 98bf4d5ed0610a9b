// Configurations on which searches are compared: models, sizes, clients, shares of unknown outcomes, valid
// and not, drawn from one seed.
#pragma once

#include <vector>

#include "checker/testing/draw_operations.h"

namespace holdfast::checker {

struct SearchCase {
  DrawOperations draw;
};

std::vector<SearchCase> search_cases(std::size_t count = 200);

}  // namespace holdfast::checker
