#include "tools/proxy/recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "checker/history/history_jsonl.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {

using checker::Event;
using checker::History;

namespace {

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Recording::Recording(const std::string& path, std::int64_t now_ns) : path_(path) {
  if (path == "-") {
    fd_ = STDOUT_FILENO;
  } else {
    require_writable_file("--record", path);
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    struct flock lock = whole_file(F_WRLCK);
    const bool locked = fd_ >= 0 && ::fcntl(fd_, F_OFD_SETLK, &lock) == 0;
    const bool taken = fd_ >= 0 && !locked && (errno == EAGAIN || errno == EACCES);
    // Who follows an older recording of that name sees a file that is shorter than before.
    if (!locked || ::ftruncate(fd_, 0) != 0) {
      const std::string why = taken ? "another process records there" : std::strerror(errno);
      if (fd_ >= 0) ::close(fd_);
      throw OutputError("--record " + path + ": cannot be written (" + why + "); give another place");
    }
  }
  mark(kRecordingBegun, now_ns);
}

Recording::~Recording() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

void Recording::write(const History& history) {
  std::string lines;
  for (std::size_t i = 0; i < history.events().size(); ++i)
    checker::append_jsonl(history, i, events_ + i, lines);
  events_ += history.events().size();
  put(lines);
}

void Recording::end(std::int64_t now_ns) { mark(kRecordingEnded, now_ns); }

void Recording::mark(std::string_view name, std::int64_t now_ns) {
  History history;
  Event mark;
  mark.type = checker::EventType::info;
  mark.f = checker::Function::mark;
  mark.time_ns = now_ns;
  mark.process = history.intern("nemesis");
  mark.key = history.intern(name);
  history.append(mark);
  write(history);
}

void Recording::put(std::string_view lines) {
  while (!lines.empty() && problem_.empty()) {
    const ssize_t written = ::write(fd_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      problem_ = "--record " + path_ + ": cannot be written (" + std::strerror(errno) +
                 "); the recording ends there";
      return;
    }
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool is_being_recorded(int fd) {
  struct flock lock = whole_file(F_RDLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace holdfast::tools
