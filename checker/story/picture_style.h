// PictureStyle: how a picture is drawn for the place where it is read. Whoever prints (the command) finds out
// how wide the terminal is, whether it shows Unicode and colours; whoever draws keeps to this.
#pragma once

#include <algorithm>
#include <cstddef>

namespace holdfast::checker {

inline constexpr int kNarrowestPicture = 60, kWidestPicture = 200;  // columns

struct PictureStyle {
  int width = 100;      // columns; what lies outside of 60 to 200 is taken as the nearer of these
  bool unicode = true;  // false: no character beyond ASCII
  bool color = false;   // ANSI colours

  std::size_t columns() const {
    return static_cast<std::size_t>(std::clamp(width, kNarrowestPicture, kWidestPicture));
  }
};

}  // namespace holdfast::checker
