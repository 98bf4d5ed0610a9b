#include "tools/holdfast/hunt_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "checker/story/text_layout.h"
#include "tools/holdfast/case_story.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

constexpr double kSecondsBetweenDraws = 0.25;
constexpr std::size_t kMostPoints = 256;
constexpr std::size_t kMostFinds = 8;
constexpr std::size_t kLabel = 12;  // columns of "violations  "

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

double virtual_hours(const sim::HuntState& state) { return static_cast<double>(state.virtual_ns) / 3.6e12; }

// The newest find; nullptr: none.
const sim::Find* newest_of(const sim::HuntState& state) {
  const sim::Find* newest = nullptr;
  for (const auto& [name, find] : state.finds) {
    if (newest == nullptr || find.run > newest->run) newest = &find;
  }
  return newest;
}

std::vector<const sim::Find*> by_count(const sim::HuntState& state) {
  std::vector<const sim::Find*> finds;
  for (const auto& [name, find] : state.finds) finds.push_back(&find);
  std::stable_sort(finds.begin(), finds.end(),
                   [](const sim::Find* a, const sim::Find* b) { return a->count > b->count; });
  return finds;
}

// Lines that fit.
class Page {
 public:
  Page(const Terminal& terminal, std::size_t rows) : terminal_(terminal), rows_(rows) {}
  bool full() const { return lines_ >= rows_; }
  // With a label before it; what does not fit is cut.
  void line(std::string_view label, const std::string& text) {
    put(checker::padded(label, label.empty() && text.empty() ? 0 : kLabel) + text);
  }
  // Safe to print already.
  void put(const std::string& text) {
    if (full()) return;
    ++lines_;
    const auto columns = static_cast<std::size_t>(std::max(terminal_.width, 20)) - 1;
    text_ += checker::elided(text, columns, terminal_.unicode) + "\n";
  }
  std::string text() && { return std::move(text_); }

 private:
  const Terminal& terminal_;
  const std::size_t rows_;
  std::size_t lines_ = 0;
  std::string text_;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

void tell_finds(const sim::HuntState& state, const Terminal& terminal, Page& page) {
  const std::vector<const sim::Find*> finds = by_count(state);
  if (finds.empty()) return page.line("violations", "none");
  for (std::size_t i = 0; i < std::min(finds.size(), kMostFinds); ++i) {
    page.line(i == 0 ? "violations" : "",
              fmt::format("{:>7} run{} {}, first in run {}", with_commas(finds[i]->count),
                          finds[i]->count == 1 ? ": " : "s:",
                          for_terminal(finds[i]->failure.name(), terminal), with_commas(finds[i]->run)));
  }
  if (finds.size() > kMostFinds) page.line("", fmt::format("and {} more", finds.size() - kMostFinds));
}

bool is_live() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

void CoverageOverTime::add(std::uint64_t runs, std::uint64_t features) {
  points_.emplace_back(runs, features);
  if (points_.size() < kMostPoints) return;
  // Every other one goes; the last stays.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;
  for (std::size_t i = 1; i < points_.size(); i += 2) kept.push_back(points_[i]);
  if (kept.back() != points_.back()) kept.push_back(points_.back());
  points_ = std::move(kept);
}

std::string CoverageOverTime::bars(std::size_t columns, bool unicode) const {
  if (points_.empty() || points_.back().first == 0 || columns == 0) return "";
  const auto features_at = [&](double runs) {  // on a line between the points
    double before_runs = 0, before = 0;
    for (const auto& [at, features] : points_) {
      if (static_cast<double>(at) >= runs) {
        const double part = (runs - before_runs) / std::max(static_cast<double>(at) - before_runs, 1.0);
        return before + part * (static_cast<double>(features) - before);
      }
      before_runs = static_cast<double>(at);
      before = static_cast<double>(features);
    }
    return before;
  };
  const double all = static_cast<double>(points_.back().first);
  std::vector<double> fresh;
  for (std::size_t i = 0; i < columns; ++i) {
    const double from = all * static_cast<double>(i) / static_cast<double>(columns);
    const double to = all * static_cast<double>(i + 1) / static_cast<double>(columns);
    fresh.push_back(features_at(to) - features_at(from));
  }
  static constexpr std::array<std::string_view, 9> kUnicode = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
  const double most = std::max(*std::max_element(fresh.begin(), fresh.end()), 1.0);
  std::string text;
  for (const double one : fresh) {
    const auto height = static_cast<std::size_t>(std::ceil(std::max(one, 0.0) / most * 8.0 - 1e-9));
    text += (unicode ? kUnicode : kAscii).at(std::min<std::size_t>(height, 8));
  }
  return text;
}

std::string screen_of(const ScreenFacts& facts, const Terminal& terminal, std::size_t rows) {
  const sim::HuntState& state = facts.state;
  Page page(terminal, rows);
  page.put(for_terminal(facts.title, terminal));
  page.line("runs", fmt::format("{} {}, {:.0f}/s, {}", with_commas(state.runs), facts.limit,
                                facts.runs_a_second, format_seconds(facts.seconds)));
  page.line("inside",
            fmt::format("{:.1f} virtual hours, {} grants", virtual_hours(state), with_commas(state.grants)));
  page.line("coverage", fmt::format("{} features, at most {:.3f} new ones in the next run, corpus {}",
                                    with_commas(state.features), state.unseen(), with_commas(state.corpus)));
  const auto columns = static_cast<std::size_t>(std::max(terminal.width, 20));
  const std::size_t width = std::min<std::size_t>(columns - kLabel - 1, 64);
  page.line("new", facts.coverage.bars(width, terminal.unicode));
  tell_finds(state, terminal, page);
  const sim::Find* const newest = newest_of(state);
  if (newest == nullptr || page.full()) return std::move(page).text();
  page.line("", "");
  page.put(fmt::format("The newest, of run {}: {}", with_commas(newest->run),
                       for_terminal(newest->failure.name(), terminal)));
  for (const std::string& line : lines_of(facts.story)) page.put(line);
  return std::move(page).text();
}

std::string line_of(const sim::HuntState& state, double seconds) {
  std::uint64_t violated = 0;
  for (const auto& [name, find] : state.finds) violated += find.count;
  const sim::Find* const newest = newest_of(state);
  return fmt::format("{} runs, {:.0f}/s, {:.1f} virtual hours, {} features, corpus {}, {} finds in {} runs{}",
                     state.runs, static_cast<double>(state.runs) / std::max(seconds, 1e-3),
                     virtual_hours(state), state.features, state.corpus, state.finds.size(), violated,
                     newest == nullptr ? "" : " · " + for_terminal(newest->failure.name()));
}

HuntScreen::HuntScreen(std::string title, std::string limit, double earlier_seconds, const Terminal& terminal)
    : title_(std::move(title)),
      limit_(std::move(limit)),
      earlier_seconds_(earlier_seconds),
      terminal_(terminal),
      live_(is_live()),
      lines_(0, "runs", false) {}

HuntScreen::~HuntScreen() { clear(); }

void HuntScreen::show(const sim::HuntState& state, double seconds) {
  coverage_.add(state.runs, state.features);
  if (!live_) return lines_.tell([&] { return line_of(state, earlier_seconds_ + seconds); });
  if (drawn_at_ >= 0 && seconds - drawn_at_ < kSecondsBetweenDraws) return;
  runs_a_second_ =
      static_cast<double>(state.runs - runs_then_) / std::max(seconds - std::max(drawn_at_, 0.0), 1e-3);
  drawn_at_ = seconds;
  runs_then_ = state.runs;
  draw(state, seconds);
}

void HuntScreen::draw(const sim::HuntState& state, double seconds) {
  Terminal terminal = terminal_;
  terminal.color = false;  // what is cut to fit must have no colours
  std::size_t rows = 24;
  if (winsize size{}; ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = size.ws_col;
    rows = std::max<std::size_t>(size.ws_row, 4);
  }
  if (const sim::Find* const newest = newest_of(state);
      newest != nullptr && newest->failure.name() != newest_) {
    newest_ = newest->failure.name();
    story_ = newest->failure.of_harness() ? for_terminal(newest->failure.why, terminal) + "\n"
                                          : story_of(newest->first, newest->failure, terminal);
  }
  const std::string text = screen_of({.state = state,
                                      .title = title_,
                                      .limit = limit_,
                                      .seconds = earlier_seconds_ + seconds,
                                      .runs_a_second = runs_a_second_,
                                      .coverage = coverage_,
                                      .story = story_},
                                     terminal, rows - 1);
  std::string out = height_ > 0 ? fmt::format("\x1b[{}A", height_) : "";
  for (const std::string& line : lines_of(text)) out += "\r" + line + "\x1b[K\n";
  print_err(out + "\x1b[J");
  height_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void HuntScreen::clear() {
  if (height_ > 0) print_err(fmt::format("\x1b[{}A\r\x1b[J", height_));
  height_ = 0;
  lines_.clear();
}

}  // namespace holdfast::tools
