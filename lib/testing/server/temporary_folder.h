// TemporaryFolder: a folder below TMPDIR that is gone afterwards, also when the harness was killed.
#pragma once

#include <string>

namespace holdfast {

class TemporaryFolder {
 public:
  // Creates "$TMPDIR/holdfast-XXXXXX" (without TMPDIR: below /tmp). Throws std::system_error,
  // also when TMPDIR has a line break: the guardian would remove what stands behind it.
  TemporaryFolder();
  ~TemporaryFolder();  // removes it with all that is in it
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace holdfast
