// Canvas: rows of cells over a stretch of time, with a label and a caption each; the drawing half of a story.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::checker {

enum class Ink : std::uint8_t { plain, dim, first, second, more, alarm, fault };

// `text` in `ink` where colours are on.
std::string inked(std::string_view text, Ink ink, bool color);

// Glyphs in two alphabets.
enum class Glyph : std::uint8_t {
  blank,
  holds,
  outlives,
  waits,
  both,
  band,
  strike,
  rise,
  spot,
  corner,
  cross,
  rule,
  edge,
  cut_left,
  cut_right,
  arrow
};
std::string_view glyph_text(Glyph glyph, bool unicode);

class Canvas {
 public:
  // Columns [0, columns) stand for [from_ns, to_ns]. REQUIRES: from_ns < to_ns, columns >= 10.
  Canvas(std::int64_t from_ns, std::int64_t to_ns, int columns, std::int64_t zero_ns);

  // A new row; the following drawing goes there.
  void row(std::string label, Ink ink, std::string caption = "");
  // From begin to end, clipped; something that takes time has at least one cell. Arrows where it goes on
  // beyond the edge.
  void bar(std::int64_t begin_ns, std::int64_t end_ns, Glyph glyph, Ink ink);
  void mark(std::int64_t at_ns, Glyph glyph, Ink ink);
  bool shows(std::int64_t begin_ns, std::int64_t end_ns) const {
    return begin_ns <= to_ns_ && end_ns >= from_ns_;
  }

  // Axis and rows, a line each, `indent` before them.
  std::string render(bool unicode, bool color) const;

 private:
  struct Cell {
    Glyph glyph = Glyph::blank;
    Ink ink = Ink::plain;
  };
  struct Row {
    std::string label, caption;
    Ink ink;
    std::vector<Cell> cells;
  };
  int column(std::int64_t at_ns) const;  // not clipped beyond one on each side
  std::string axis(bool unicode, bool color, std::size_t label_width) const;

  std::int64_t from_ns_, to_ns_, zero_ns_;
  int columns_;
  std::vector<Row> rows_;
};

}  // namespace holdfast::checker
