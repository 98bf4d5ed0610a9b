#include "checker/story/story_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checker/invariant.h"
#include "checker/story/text_layout.h"

namespace holdfast::checker {

namespace {

constexpr std::array<std::string_view, 16> kFine = {" ", "█", "▒", "┄", "╳", "░", "✖", "▲",
                                                    "◆", "├", "┼", "─", "│", "‹", "›", "◄──"};
constexpr std::array<std::string_view, 16> kAscii = {" ", "#", "=", ".", "!", "~", "X", "^",
                                                     "*", "+", "+", "-", "|", "<", ">", "<--"};
constexpr std::array<std::string_view, 7> kInks = {"", "2", "1;36", "1;35", "1;34", "1;31", "33"};

}  // namespace

std::string_view glyph_text(Glyph glyph, bool unicode) {
  return (unicode ? kFine : kAscii)[static_cast<std::size_t>(glyph)];
}

std::string inked(std::string_view text, Ink ink, bool color) {
  const std::string_view code = kInks[static_cast<std::size_t>(ink)];
  if (!color || code.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Canvas::Canvas(std::int64_t from_ns, std::int64_t to_ns, int columns, std::int64_t zero_ns)
    : from_ns_(from_ns), to_ns_(to_ns), zero_ns_(zero_ns), columns_(columns) {
  CHECKER_INVARIANT(from_ns < to_ns && columns >= 10, "a canvas has room");
}

int Canvas::column(std::int64_t at_ns) const {
  if (at_ns < from_ns_) return -1;
  if (at_ns > to_ns_) return columns_;
  const double part = static_cast<double>(at_ns - from_ns_) / static_cast<double>(to_ns_ - from_ns_);
  return std::min(columns_ - 1, static_cast<int>(part * columns_));
}

void Canvas::row(std::string label, Ink ink, std::string caption) {
  rows_.push_back(
      {std::move(label), std::move(caption), ink, std::vector<Cell>(static_cast<std::size_t>(columns_))});
}

void Canvas::bar(std::int64_t begin_ns, std::int64_t end_ns, Glyph glyph, Ink ink) {
  if (end_ns < begin_ns || !shows(begin_ns, end_ns)) return;
  const int begin = std::max(0, column(begin_ns));
  const int end = std::min(columns_, std::max(column(end_ns), begin + 1));
  auto& cells = rows_.back().cells;
  for (int at = begin; at < end; ++at) cells[static_cast<std::size_t>(at)] = {glyph, ink};
  if (begin_ns < from_ns_) cells.front() = {Glyph::cut_left, ink};
  if (end_ns > to_ns_) cells.back() = {Glyph::cut_right, ink};
}

void Canvas::mark(std::int64_t at_ns, Glyph glyph, Ink ink) {
  const int at = column(at_ns);
  if (at >= 0 && at < columns_) rows_.back().cells[static_cast<std::size_t>(at)] = {glyph, ink};
}

std::string Canvas::axis(bool unicode, bool color, std::size_t label_width) const {
  // The smallest round step whose ticks lie at least 9 columns apart.
  const double per_column = static_cast<double>(to_ns_ - from_ns_) / columns_;
  std::int64_t step = 1000;
  for (int i = 0; static_cast<double>(step) < per_column * 9 && i < 48; ++i)
    step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  const bool seconds = step >= 1'000'000'000;
  constexpr std::size_t kUnit = 3;  // " ms" behind the last number
  std::size_t room = static_cast<std::size_t>(columns_), captions = 0;
  for (const Row& row : rows_) {
    if (!row.caption.empty()) captions = std::max(captions, 2 + columns_of(row.caption));
  }
  room += captions;  // above them is nothing
  std::string numbers(room, ' ');
  std::vector<Glyph> rule(static_cast<std::size_t>(columns_), Glyph::rule);
  rule[0] = Glyph::corner;
  const std::int64_t offset = from_ns_ - zero_ns_;
  std::int64_t tick = offset / step * step;
  if (tick < offset) tick += step;
  std::size_t used = 0;
  for (; tick + zero_ns_ <= to_ns_; tick += step) {
    const auto at = static_cast<std::size_t>(std::max(0, column(tick + zero_ns_)));
    std::string text = fmt::format("{:.6f}", static_cast<double>(tick) / (seconds ? 1e9 : 1e6));
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    if (at > 0) rule[at] = Glyph::cross;
    if (at < used || at + text.size() + kUnit > room) continue;
    numbers.replace(at, text.size(), text);
    used = at + text.size() + 2;
  }
  while (!numbers.empty() && numbers.back() == ' ') numbers.pop_back();
  std::string line;
  for (const Glyph glyph : rule) line += glyph_text(glyph, unicode);
  const std::string pad(label_width, ' ');
  return pad + inked(numbers + (seconds ? " s" : " ms"), Ink::dim, color) + "\n" + pad +
         inked(line, Ink::dim, color) + "\n";
}

std::string Canvas::render(bool unicode, bool color) const {
  std::size_t width = 0;
  for (const Row& row : rows_) width = std::max(width, columns_of(row.label));
  width += 2;
  std::string out = axis(unicode, color, width);
  for (const Row& row : rows_) {
    std::string line = inked(row.label, row.ink, color) + std::string(width - columns_of(row.label), ' ');
    std::size_t last = row.cells.size();
    if (row.caption.empty()) {
      while (last > 0 && row.cells[last - 1].glyph == Glyph::blank) --last;
    }
    for (std::size_t at = 0; at < std::max<std::size_t>(last, 1);) {  // runs of one ink
      std::size_t end = at;
      std::string run;
      const bool edge = at == 0 && row.cells[0].glyph == Glyph::blank;
      const Ink ink = edge ? Ink::dim : row.cells[at].ink;
      do {
        run += glyph_text(edge ? Glyph::edge : row.cells[end].glyph, unicode);
        ++end;
      } while (!edge && end < last && row.cells[end].ink == ink);
      line += inked(run, ink, color);
      at = end;
    }
    if (!row.caption.empty()) line += "  " + inked(row.caption, Ink::dim, color);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace holdfast::checker
