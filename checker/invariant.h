// Assertions of the checker, which knows no other room. They stay on in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

// CHECKER_INVARIANT(condition, "why this must hold")
#define CHECKER_INVARIANT(condition, why)                                                                \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", __FILE__, __LINE__, #condition, (why)); \
      std::abort();                                                                                      \
    }                                                                                                    \
  } while (false)
