// Progress: one live line on a terminal, a plain line every ten seconds elsewhere. On standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::tools {

class Progress {
 public:
  // unit: "runs"; total 0: not known; judged: how much was unexpected is told
  Progress(std::uint64_t total, std::string unit, bool judged = true);
  ~Progress();  // takes the live line away
  void update(std::uint64_t done, std::uint64_t unexpected, const std::string& what);
  // The same for a line that the caller words. `line` is called only if it is time to print.
  void tell(const std::function<std::string()>& line);
  void show_next() { last_ = {}; }  // the next update is printed however soon it comes
  void clear();                     // before something else is printed

 private:
  bool is_time();
  void print(const std::string& line);
  std::uint64_t total_;
  std::string unit_;
  bool judged_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// "1m 05s"
std::string format_seconds(double seconds);

}  // namespace holdfast::tools
