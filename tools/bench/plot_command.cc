// `holdfast plot`: finds a Python that has matplotlib and becomes plot/plot.py, which checks the results and
// draws.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tools/bench/bench_peers.h"
#include "tools/bench/folders.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {

ExitCode plot_command(const std::string& results, std::string out) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (out.empty())
    out = fs::is_directory(results, ignored) ? results : fs::path(results).parent_path().string();
  if (out.empty()) out = ".";
  // Without matplotlib a bad result is still told: the script looks at it first.
  std::string python = find_python("matplotlib");
  if (python.empty()) python = find_program("python3");
  if (python.empty()) {
    print_err(
        "holdfast plot: no python3 on this machine; install it with: apt-get install python3-matplotlib\n");
    return kMissing;
  }
  std::string script = checkout_path("tools/bench/plot/plot.py"), from = results;
  char* const arguments[] = {python.data(), script.data(), from.data(), out.data(), nullptr};
  std::fflush(nullptr);
  ::execv(python.c_str(), arguments);
  throw std::system_error(errno, std::generic_category(), "cannot start " + python);
}

}  // namespace holdfast::tools
