// Program: one foreign client as a child process, and what it prints.
//
// It is started without a shell, in a process group of its own, with a clean environment. It dies with the
// harness, however that ends (lib/testing/server/guardian.h). Its two outputs are kept in files, up to a
// limit; secrets are masked there.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/testing/server/child_process.h"
#include "sim/external/ears.h"
#include "sim/external/secrets.h"
#include "sim/external/told_line.h"

namespace holdfast::sim {

struct ProgramOptions {
  std::string name;                       // "c1"
  std::vector<std::string> command = {};  // the program, and its arguments
  std::string folder;                     // where it runs
  std::string kept;                       // an existing folder, for NAME.stdout.log and NAME.stderr.log
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> inherited = {};  // names of variables that it has of ours
  std::uint64_t most_output = 16 << 20;     // bytes that it may print
  Secrets secrets = {};
};

// Where the program of a command is: a path if the name has a slash (from `folder`), else from PATH. "": it
// is nowhere.
std::string path_of_program(const std::string& name, const std::string& folder);

class Program {
 public:
  // Starts it. Throws std::system_error; BadProgram: there is no such program.
  Program(Ears& ears, ProgramOptions options);
  ~Program();  // kills it with all its children
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Line {
    std::string text;
    std::uint64_t number = 0;  // from 1
    std::int64_t not_before_ns = 0;
  };
  // Takes what Ears::listen() heard of it: the lines that are whole. Throws BadProgram: too much.
  std::vector<Line> take_lines();
  // It ended, and take_lines() had all of it. How, and whether its last line has no end.
  std::optional<ChildEnd> over() const;
  bool has_half_a_line() const { return !rest_.empty(); }
  std::uint64_t printed() const { return out_->bytes() + err_->bytes(); }

  // The end of what it printed on its standard error, one line, secrets masked; "" nothing.
  std::string last_words() const;

  void pause() { child_->pause(); }
  void resume() { child_->resume(); }
  void kill();  // with all its children; what it had printed can be heard still

 private:
  // A file of what it printed, in whole lines while it runs.
  struct Log {
    std::ofstream file;
    std::uint64_t kept = 0, most = 0;
    std::string rest;
  };
  std::string keep(Ear& ear, Log& log);
  void write(Log& log, std::size_t bytes);

  Ears& ears_;
  const ProgramOptions options_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<ChildEnd> end_;
  std::shared_ptr<Ear> out_, err_;
  Log out_log_, err_log_;
  std::uint64_t lines_ = 0;
  std::string rest_;  // of a line that is not whole
  std::int64_t rest_not_before_ns_ = 0;
  std::string err_tail_;
};

}  // namespace holdfast::sim
