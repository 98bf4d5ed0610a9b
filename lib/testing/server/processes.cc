#include "lib/testing/server/processes.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace holdfast {
namespace {

// Of /proc/PID/stat, "pid (name) S ppid ...": what proc(5) numbers 3, 4 and 14 to 17.
struct Status {
  char state = 'X';
  int parent = 0;
  long long ticks = 0;  // of CPU, in user and kernel mode, its children's that it waited for included
};

Status status_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');  // a name may have brackets and blanks
  if (end == std::string::npos) return {};
  Status status;
  std::istringstream fields(text.substr(end + 1));
  fields >> status.state >> status.parent;
  std::string skipped;
  for (int number = 5; number < 14; ++number) fields >> skipped;
  for (int number = 14; number <= 17; ++number) {
    long long ticks = 0;
    fields >> ticks;
    status.ticks += ticks;
  }
  return status;
}

}  // namespace

std::vector<int> descendants_of(int pid) {
  std::multimap<int, int> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ptr != name.data() + name.size())
      continue;
    const Status status = status_of(name);
    if (status.state != 'X' && status.state != 'Z') children.emplace(status.parent, number);
  }
  std::vector<int> found = {pid};
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto [begin, end] = children.equal_range(found[at]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

char state_of(int pid) { return status_of(std::to_string(pid)).state; }

double cpu_seconds_of(int pid) {
  long long ticks = status_of(std::to_string(pid)).ticks;
  for (const int descendant : descendants_of(pid)) ticks += status_of(std::to_string(descendant)).ticks;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace holdfast
