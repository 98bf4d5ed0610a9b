#include "lib/testing/server/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "lib/testing/server/guardian.h"

namespace holdfast {
namespace {

std::vector<std::string> make_environment(const ChildOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = options.inherited && std::find(options.inherited->begin(), options.inherited->end(),
                                                   name) == options.inherited->end();
    for (const auto& [given, value] : options.environment) replaced |= given == name;
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Runs between fork and exec of a program that may have other threads: async-signal-safe calls only.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         const ChildOptions& options, int guardian_socket, int failure) noexcept {
  ::setpgid(0, 0);
  guardian::announce_self(guardian_socket);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = options.output_fd >= 0
                      ? options.output_fd
                      : ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (in >= 0 && out >= 0 && ::chdir(options.folder.c_str()) == 0) {
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(options.error_fd >= 0 ? options.error_fd : out, 2);
    ::execve(program, arguments, environment);
  }
  const int error = errno;
  static_cast<void>(!::write(failure, &error, sizeof error));
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) : pause_group_(options.pause_group) {
  std::vector<std::string> arguments{options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = make_environment(options);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  const int guardian_socket = guardian::socket();

  int failure[2];  // closed by exec, or has the reason why there was none
  if (::pipe2(failure, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  pid_ = ::fork();
  if (pid_ == 0) {
    become(options.program.c_str(), argument_pointers.data(), environment_pointers.data(), options,
           guardian_socket, failure[1]);
  }
  int error = pid_ < 0 ? errno : 0;
  ::close(failure[1]);
  if (pid_ > 0) {
    while (::read(failure[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
  }
  ::close(failure[0]);
  if (error != 0) {
    if (pid_ > 0) reap();
    throw std::system_error(error, std::generic_category(), "cannot start " + options.program);
  }
}

ChildProcess::~ChildProcess() { kill(); }

bool ChildProcess::running() const {
  if (reaped_) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::optional<ChildEnd> ChildProcess::ended() const {
  siginfo_t info{};
  if (reaped_ || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  return ChildEnd{.by_signal = info.si_code != CLD_EXITED, .number = info.si_status};
}

void ChildProcess::kill() {
  if (reaped_) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  reap();
}

void ChildProcess::pause() {
  if (reaped_ || ::kill(pause_group_ ? -pid_ : pid_, SIGSTOP) != 0) return;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
}

void ChildProcess::resume() {
  if (!reaped_) ::kill(pause_group_ ? -pid_ : pid_, SIGCONT);
}

void ChildProcess::reap() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  guardian::forget(pid_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

std::string variable_of_ours(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace holdfast
