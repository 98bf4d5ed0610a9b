// The live screen of a hunt: how fast it goes, what is still new, what it has found, and the newest story. On
// a terminal it stays in its place and is drawn anew; elsewhere it is a plain line every ten seconds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/holdfast/hunt_record.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// How many features there were after so many runs, from the first run to now: at most some hundred points.
class CoverageOverTime {
 public:
  void add(std::uint64_t runs, std::uint64_t features);
  // `columns` bars of what was new in each part of the runs, the tallest the most that one of them had; from
  // blank to full. "": nothing yet.
  std::string bars(std::size_t columns, bool unicode) const;
  std::uint64_t runs() const { return points_.empty() ? 0 : points_.back().first; }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> points_;  // runs and features, ascending
};

struct ScreenFacts {
  const sim::HuntState& state;
  std::string title;         // what is hunted, and how
  std::string limit;         // until when: "of 20000 runs", "of 1m 00s"
  double seconds = 0;        // since it began
  double runs_a_second = 0;  // lately
  const CoverageOverTime& coverage;
  std::string story;  // of the newest find; "": none
};

// All lines, none wider than the terminal and no more than `rows` of them; each ends with a newline.
std::string screen_of(const ScreenFacts& facts, const Terminal& terminal, std::size_t rows);
// The same as one line, without a newline.
std::string line_of(const sim::HuntState& state, double seconds);

class HuntScreen {
 public:
  // `earlier_seconds`: what an earlier part of the hunt took.
  HuntScreen(std::string title, std::string limit, double earlier_seconds, const Terminal& terminal);
  ~HuntScreen();  // takes it away

  // Draws if it is time to.
  void show(const sim::HuntState& state, double seconds);
  void clear();

 private:
  void draw(const sim::HuntState& state, double seconds);

  const std::string title_, limit_;
  const double earlier_seconds_;
  const Terminal terminal_;
  const bool live_;
  Progress lines_;
  CoverageOverTime coverage_;
  std::string newest_, story_;
  double drawn_at_ = -1, runs_a_second_ = 0;
  std::uint64_t runs_then_ = 0;
  std::size_t height_ = 0;  // lines that stand there
};

}  // namespace holdfast::tools
