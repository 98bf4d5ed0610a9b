#include "lib/testing/server/temporary_folder.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lib/testing/server/guardian.h"

namespace holdfast {

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("TMPDIR");
  if (base != nullptr && std::strchr(base, '\n') != nullptr) {  // the guardian is told names by the line
    throw std::system_error(EINVAL, std::generic_category(), "a line break in TMPDIR");
  }
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  char name[32];
  std::snprintf(name, sizeof name, "holdfast-%016" PRIx64, number);
  path_ = std::filesystem::absolute(base != nullptr && *base != '\0' ? base : "/tmp") / name;
  guardian::watch_folder(path_);  // before it is there: no instant at which it could be left behind
  if (::mkdir(path_.c_str(), 0700) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot create a folder " + path_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast
