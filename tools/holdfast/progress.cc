#include "tools/holdfast/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include "tools/holdfast/escape.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {

using std::chrono::steady_clock;

std::string format_seconds(double seconds) {
  const long whole = std::lround(seconds);
  if (whole >= 3600) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{} s", whole);
}

Progress::Progress(std::uint64_t total, std::string unit, bool judged)
    : total_(total),
      unit_(std::move(unit)),
      judged_(judged),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(steady_clock::now()),
      last_(start_) {}

Progress::~Progress() { clear(); }

bool Progress::is_time() {
  const auto now = steady_clock::now();
  const auto gap = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (now - last_ < gap) return false;
  last_ = now;
  return true;
}

void Progress::tell(const std::function<std::string()>& line) {
  if (is_time()) print(line());
}

void Progress::update(std::uint64_t done, std::uint64_t unexpected, const std::string& what) {
  if (!is_time()) return;
  const double elapsed = std::chrono::duration<double>(last_ - start_).count();
  const double rate = static_cast<double>(done) / std::max(elapsed, 1e-3);
  const std::uint64_t missing = total_ > done ? total_ - done : 0;
  const std::string left = done == 0 ? "?" : format_seconds(static_cast<double>(missing) / rate);
  std::string line = fmt::format("{} of {} {}, {:.1f}/s, {}{} left", done, total_, unit_, rate,
                                 judged_ ? fmt::format("{} unexpected, ", unexpected) : "", left);
  if (total_ == 0) line = fmt::format("{} {}, {:.1f}/s", done, unit_, rate);  // nobody knows how much
  if (!what.empty()) line += " · " + for_terminal(what);
  print(line);
}

void Progress::print(const std::string& line) {
  if (!terminal_) {
    print_err(line + "\n");
    return;
  }
  winsize size{};
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  // Bytes, not columns: cutting early is harmless, wrapping is not.
  print_err("\r\x1b[K" + line.substr(0, static_cast<std::size_t>(columns - 1)));
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  print_err("\r\x1b[K");
  shown_ = false;
}

}  // namespace holdfast::tools
