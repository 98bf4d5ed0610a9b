// SearchWatch: what a search of `holdfast check` is told from outside, and tells: its time is over, the user
// pressed Ctrl-C, how far it is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "checker/linearizability/search.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {

// While one lives the first SIGINT of this process ends searches ("interrupted"), and the second one the
// process. One at a time.
class SearchWatch {
 public:
  // what: "judging h.jsonl". The time begins now.
  SearchWatch(std::optional<std::chrono::nanoseconds> timeout, std::string what);
  ~SearchWatch();
  SearchWatch(const SearchWatch&) = delete;
  SearchWatch& operator=(const SearchWatch&) = delete;

  // For SearchBudget::stop.
  const char* ask(const checker::SearchProgress& progress);
  void key_done(std::size_t done, std::size_t all);  // for LinearizabilityOptions::progress

  // Since the process began.
  static bool interrupted();
  static void forget_interrupt();  // for tests

 private:
  const std::optional<std::chrono::nanoseconds> timeout_;
  const std::string what_;
  const std::chrono::steady_clock::time_point begin_;
  Progress progress_;
  std::size_t keys_done_ = 0, keys_ = 0;
  void (*before_)(int) = nullptr;
};

}  // namespace holdfast::tools
