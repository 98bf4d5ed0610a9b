// `holdfast plot`: checks the result, finds a Python that has matplotlib, and lets tools/plot draw.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/bench/bench_peers.h"
#include "tools/bench/folders.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {

ExitCode plot_command(const std::string& what, std::string out) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool folder = fs::is_directory(what, ignored);
  std::vector<std::string> files;
  if (folder) {
    for (const auto& entry : fs::directory_iterator(what)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) throw BadUsage("plot: " + what + " has no result (*.json) in it");
  } else {
    files.push_back(what);
  }
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) throw BadUsage("plot: cannot read " + file);
    std::ostringstream text;
    text << in.rdbuf();
    const std::string problem = problem_of_document(text.str());
    if (!problem.empty()) throw BadUsage("plot: " + file + " " + problem);
  }
  if (out.empty()) out = folder ? what : fs::path(what).parent_path().string();
  if (out.empty()) out = ".";
  const std::string python = find_python("matplotlib");
  if (python.empty()) {
    fmt::print(stderr,
               "holdfast: no python3 with matplotlib on this machine; install it with: apt-get install "
               "python3-matplotlib\n");
    return kMissing;
  }
  const std::string said =
      run_program(python, {checkout_path("tools/bench/plot/plot.py"), fs::absolute(what), fs::absolute(out)},
                  std::chrono::seconds(600));
  fmt::print("{}", said);
  const bool drew = said.find(".png\n") != std::string::npos;
  if (!drew && said.find("nothing in it that could be drawn") != std::string::npos) return kUsage;
  return drew ? kMet : kInternal;
}

}  // namespace holdfast::tools
