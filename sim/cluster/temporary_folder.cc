#include "sim/cluster/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sim/cluster/guardian.h"

namespace holdfast::sim {

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("TMPDIR");
  std::string name =
      std::filesystem::absolute(base != nullptr && *base != '\0' ? base : "/tmp") / "holdfast-XXXXXX";
  guardian::socket();  // before there is anything to tidy up
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot create a folder " + name);
  }
  path_ = name;
  guardian::watch_folder(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::sim
