// Missing: what is needed and this build or machine does not have.
#pragma once

#include <stdexcept>

namespace holdfast {

// what() says what is missing and, where that helps, how to install it. No defect of what needs it.
class Missing : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace holdfast
