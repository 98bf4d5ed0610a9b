// Story: a witness told to a person at a terminal: a timeline with both owners marked, what happened line by
// line, and why it is wrong.
//
//   DOUBLE GRANT  stock:42 has two owners from 131.204 ms to 402.118 ms
//
//                     0         100       200       300       400 ms
//                     ├─────────┼─────────┼─────────┼─────────┼─────
//     kill-primary    │   ✖
//     promote         │              ▲
//   A c1:0   r1       │  ┄█████████████████████████████████████
//   B c2:0   r2       │       ┄┄┄┄┄┄┄┄┄█████████████████████████████
//     both own it     │                ╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳
//   ...
#pragma once

#include <string>

#include "checker/checks/check.h"
#include "checker/history/history.h"
#include "checker/story/picture_style.h"

namespace holdfast::checker {

struct StoryOptions {
  PictureStyle style = {};
  bool reentrant = false;  // as in CheckContext
  int lines = 30;          // events told at most, those of the witness first
};

// Ends in a newline. Times are milliseconds since the history's first event. Any witness of any check will
// do.
std::string tell_story(const History& history, const Witness& witness, const StoryOptions& options = {});

}  // namespace holdfast::checker
