#include "tools/holdfast/open_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/missing.h"

namespace holdfast::tools {

void open_page(const std::string& page) {
  const std::string program = find_program("xdg-open");
  if (program.empty()) {
    throw Missing(
        fmt::format("xdg-open is not installed on this machine (apt-get install xdg-utils); open {} in a "
                    "browser yourself",
                    page));
  }
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), page.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Missing(fmt::format("xdg-open could not open {}; open it in a browser yourself", page));
}

}  // namespace holdfast::tools
