// ChildProcess: one program that runs as a child and never outlives the harness (see guardian.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

struct ChildOptions {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // without the program's name
  std::string folder;                  // where it runs
  std::string output;                  // file to which stdout and stderr are appended
  std::vector<std::pair<std::string, std::string>> environment{};  // in addition to ours
  // Of our environment it has these variables only; nullopt: all of it.
  std::optional<std::vector<std::string>> inherited = std::nullopt;
  // Its stdout and stderr instead of `output`; they stay open here. -1: none.
  int output_fd = -1, error_fd = -1;
  bool pause_group = false;  // pause() and resume() mean its children, too
};

// How a child ended.
struct ChildEnd {
  bool by_signal = false;
  int number = 0;  // the exit status, or the signal
};

// Thread safety: one thread at a time.
class ChildProcess {
 public:
  // Starts it. Throws std::system_error when that fails (no such program, no more processes, ...).
  explicit ChildProcess(const ChildOptions& options);
  ~ChildProcess();  // kills
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  bool running() const;  // false once it has ended, by itself or by kill()
  // How it ended; nullopt: it runs, or kill() was called already.
  std::optional<ChildEnd> ended() const;

  void kill();    // SIGKILL to it and its children; returns when it is dead. Idempotent
  void pause();   // SIGSTOP; returns when it stands still
  void resume();  // SIGCONT

 private:
  void reap();
  int pid_ = -1;
  bool pause_group_ = false;
  bool reaped_ = false;
};

// The value of a variable of our environment, "" if there is none.
std::string variable_of_ours(const std::string& name);

// The path of `name` among the folders of PATH, "" if there is none.
std::string find_program(const std::string& name);

}  // namespace holdfast
