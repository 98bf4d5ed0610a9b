// The command as its users meet it: for tests that run the program itself.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::tools {

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Ran {
  int exit = -1;
  std::string out, err;
  // The last line of standard output but `back` ones.
  std::string last_line(std::size_t back = 0) const {
    std::size_t end = out.find_last_not_of('\n');
    for (;; --back) {
      const std::size_t begin = out.rfind('\n', end);
      if (back == 0) return out.substr(begin + 1, end - begin);
      if (begin == std::string::npos) return "";
      end = begin - 1;
    }
  }
  bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
};

// A line of a shell, its output and exit code (128 and more: it died of a signal).
inline Ran run_shell(const std::string& line) {
  const TemporaryFolder folder;
  const std::string err = folder.path() + "/err";
  Ran ran;
  std::FILE* pipe = popen(("{ " + line + "\n} 2>" + err).c_str(), "r");
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ran.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.err = read_text(err);
  return ran;
}

inline const std::string kTool = holdfast::testing::build_path("holdfast");
inline const std::string kScenarios = holdfast::testing::source_path("scenarios/");

// `before`: assignments of environment variables; pictures are 100 columns wide and in UTF-8 without them.
inline Ran holdfast(const std::string& arguments, const std::string& before = "") {
  return run_shell("unset COLUMNS NO_COLOR; LC_ALL=C.UTF-8 " + before + " " + kTool + " " + arguments);
}

}  // namespace holdfast::tools
