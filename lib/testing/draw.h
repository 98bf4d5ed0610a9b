// Draws for tests of locks. Only in .cc files: RapidCheck is a heavy header.
#pragma once

#include <rapidcheck.h>

namespace holdfast::testing {

// Any of 0 .. end - 1, whatever the size of the game: rc::gen::inRange() alone draws from less of its range
// the smaller the size is, which in a game of 20 steps is the first player, always.
template <class Number>
rc::Gen<Number> below(Number end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(0, end));
}

}  // namespace holdfast::testing
