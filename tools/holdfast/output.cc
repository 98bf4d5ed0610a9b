#include "tools/holdfast/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tools/holdfast/escape.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

std::atomic<int> lost_output = 0;  // errno of the first text that standard output did not take

// The folder in which `path` is, or would be.
fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

// Why `path` cannot be made or written, after a call that failed with `error`. Systems have many words for a
// folder that takes no files: /proc says that the file does not exist.
std::string reason(const fs::path& path, int error) {
  if (error != EACCES && error != EPERM && error != ENOENT) return std::strerror(error);
  fs::path folder = path;
  std::error_code ignored;
  while (!fs::is_directory(folder, ignored) && folder != parent_of(folder)) folder = parent_of(folder);
  if (error == EACCES && access(folder.c_str(), W_OK) == 0) return std::strerror(error);
  return fmt::format("{} is read-only{}", folder.string(), geteuid() == 0 ? "" : " for this user");
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw OutputError(fmt::format("{}: cannot be written ({})", path, why));
}

[[noreturn]] void refuse(const std::string& flag, const std::string& path, const std::string& why) {
  throw OutputError(
      fmt::format("{} {}: cannot be written ({}); nothing was run, give another place", flag, path, why));
}

// 0, or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool is_same(const struct stat& one, int fd) {
  struct stat other {};
  return fstat(fd, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Nothing beside it can take its place.
bool is_written_in_place(const struct stat& old) {
  return !S_ISREG(old.st_mode) || is_same(old, STDOUT_FILENO) || is_same(old, STDERR_FILENO);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }
  int close() {  // 0, or errno: some file systems tell only now that there is no room
    return fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 ? errno : 0;
  }

 private:
  int fd_;
};

// A new file of a name that nobody has, in `folder`. Readers of results take no hidden file.
std::pair<fs::path, int> make_temporary(const fs::path& folder) {
  static std::atomic<unsigned> number = 0;
  for (;;) {
    fs::path path = folder / fmt::format(".holdfast-{}-{}", getpid(), number++);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return {std::move(path), fd};
  }
}

// 0, or errno. `old`: what is there. Standard output under another name (/dev/stdout) is written where it
// stands.
int write_in_place(const fs::path& path, std::string_view text, const struct stat& old) {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    if (is_same(old, standard)) return write_all(standard, text);
  }
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return errno;
  const int error = write_all(file.get(), text);
  const int late = file.close();
  return error != 0 ? error : late;
}

// 0, or errno. `old`: the file that is there already, nullptr none.
int replace(const fs::path& path, std::string_view text, const struct stat* old) {
  if (old != nullptr && access(path.c_str(), W_OK) != 0) return errno;
  const auto [temporary, fd] = make_temporary(parent_of(path));
  Descriptor file(fd);
  if (fd < 0) return errno;
  if (old != nullptr) static_cast<void>(!fchmod(fd, old->st_mode & 07777));
  int error = write_all(fd, text);
  const int late = file.close();
  if (error == 0) error = late;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  return error;
}

// What `path` names once links are followed.
fs::path target_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored)) return path;
  const fs::path target = fs::canonical(path, ignored);
  return target.empty() ? path : target;
}

// "": `folder` was made or was there, and a file in it could be written.
std::string why_takes_no_file(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return reason(folder, failed.value());
  if (!fs::is_directory(folder, failed)) return "it is no folder";
  const auto [probe, fd] = make_temporary(folder);
  Descriptor file(fd);
  if (fd < 0) return reason(folder, errno);
  int error = write_all(fd, "x");
  const int late = file.close();
  if (error == 0) error = late;
  unlink(probe.c_str());
  return error == 0 ? "" : reason(folder, error);
}

}  // namespace

void prepare_output() {
  // Opened for the other direction: reading or writing fails as it does on a file that is closed.
  for (const auto& [standard, mode] :
       {std::pair(0, O_WRONLY), std::pair(1, O_RDONLY), std::pair(2, O_RDWR)}) {
    if (fcntl(standard, F_GETFD) < 0) static_cast<void>(!open("/dev/null", mode));
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void print_out(std::string_view text) {
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  int none = 0;
  if (!whole || std::fflush(stdout) != 0) lost_output.compare_exchange_strong(none, errno == 0 ? EIO : errno);
}

void print_err(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr) + 0);
  static_cast<void>(std::fflush(stderr) + 0);
}

void finish_standard_output() {
  print_out("");
  if (const int error = lost_output.exchange(0); error != 0)
    throw OutputError(fmt::format("standard output: cannot be written ({})", std::strerror(error)));
}

void write_file(const std::string& path, std::string_view text) {
  const fs::path target = target_of(path);
  std::error_code failed;
  fs::create_directories(parent_of(target), failed);
  if (failed) fail(path, reason(target, failed.value()));
  struct stat old {};
  const bool there = stat(target.c_str(), &old) == 0;
  const int error = there && is_written_in_place(old) ? write_in_place(target, text, old)
                                                      : replace(target, text, there ? &old : nullptr);
  if (error != 0) fail(path, reason(target, error));
}

bool try_to_write(const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const OutputError& error) {
    print_err(fmt::format("holdfast: {}\n", for_terminal(error.what())));
    return false;
  }
}

void require_writable_folder(const std::string& flag, const std::string& folder) {
  if (const std::string why = why_takes_no_file(folder); !why.empty()) refuse(flag, folder, why);
}

void require_writable_file(const std::string& flag, const std::string& file) {
  const fs::path target = target_of(file);
  struct stat old {};
  const bool there = stat(target.c_str(), &old) == 0;
  if (there && S_ISDIR(old.st_mode)) refuse(flag, file, "it is a folder");
  if (there && access(target.c_str(), W_OK) != 0) refuse(flag, file, reason(target, errno));
  if (there && is_written_in_place(old)) return;
  if (const std::string why = why_takes_no_file(parent_of(target)); !why.empty()) refuse(flag, file, why);
}

}  // namespace holdfast::tools
