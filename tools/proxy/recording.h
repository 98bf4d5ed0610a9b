// Recording: a history in JSON lines that is read while it grows (`holdfast check FILE --follow`).
//
// Its first event is the mark `recording.begun`, its last one `recording.ended`. While its writer lives it
// has the file locked (fcntl), so that who follows it knows the end of a writer that was killed, too. Each
// event is written at once, with one call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checker/history/history.h"

namespace holdfast::tools {

inline constexpr std::string_view kRecordingBegun = "recording.begun";
inline constexpr std::string_view kRecordingEnded = "recording.ended";

class Recording {
 public:
  // Begins a new file, or, with "-", writes to standard output. Throws OutputError: it cannot be written, or
  // another process records there.
  Recording(const std::string& path, std::int64_t now_ns);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The events of `history`, in their order. After a failure nothing more is written.
  void write(const checker::History& history);
  void end(std::int64_t now_ns);
  const std::string& problem() const { return problem_; }  // why it stopped; "": it did not
  std::uint64_t events() const { return events_; }

 private:
  void mark(std::string_view name, std::int64_t now_ns);
  void put(std::string_view lines);

  const std::string path_;
  int fd_ = -1;
  std::uint64_t events_ = 0;
  std::string problem_;
};

// Whether a process records into the open file `fd` now. False for a pipe.
bool is_being_recorded(int fd);

}  // namespace holdfast::tools
