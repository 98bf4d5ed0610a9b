// The events of a loaded history that pictures and most checks see: all of them, or of a huge history the
// ones around a violation. Positions in the view differ from positions in the file; this class translates.
#pragma once

#include <cstdint>
#include <vector>

#include "checker/checks/check.h"
#include "checker/history/history.h"
#include "tools/holdfast/check_load.h"

namespace holdfast::tools {

// Not thread-safe. `loaded` must outlive it.
class HistoryView {
 public:
  explicit HistoryView(const LoadedHistory& loaded) : loaded_(loaded) {}

  // Every event. Of Jepsen's formats failed releases are left out: a failed operation never happened.
  void show_all();
  // Events of `key` and of faults within `reach` events before and after `at`, and those at `must`
  // (ascending).
  void show_around(std::size_t at, checker::Symbol key, const std::vector<std::size_t>& must,
                   std::size_t reach = 100'000);

  bool empty() const { return !filled_; }  // nothing was shown yet
  bool whole() const { return whole_; }
  const checker::History& history() const { return history_; }
  checker::History take_history() { return std::move(history_); }
  std::vector<std::uint64_t> indices()
      const;  // by position in the view, as the file says; empty: the positions
  std::uint64_t failed_releases() const { return failed_releases_; }  // left out by show_all()

  // REQUIRES: position < history().events().size().
  std::size_t in_file(std::size_t position) const { return same_ ? position : shown_[position]; }
  // From positions in the file to those in the view. False: the view lacks one of them; `witness` stays as it
  // is.
  bool translate(checker::Witness& witness) const;

 private:
  const LoadedHistory& loaded_;
  checker::History history_;
  std::vector<std::size_t>
      shown_;  // positions in the file of the view's events, ascending; unused where same_
  std::uint64_t failed_releases_ = 0;
  bool filled_ = false, whole_ = false, same_ = false;
};

}  // namespace holdfast::tools
