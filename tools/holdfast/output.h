// Output: files and standard output that may not be writable. Whoever cannot write says so in one line, exit
// 74.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast::tools {

// Something could not be written; what() names it and the reason.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes `text` to `path`, creating its folder. Throws OutputError.
void write_file(const std::string& path, const std::string& text);

// For flags that name what will be written, before the work that fills it: creates the folder (of the file)
// and tries. A file that is there already keeps its text. `flag`: "--out". Throws OutputError.
void require_writable_folder(const std::string& flag, const std::string& folder);
void require_writable_file(const std::string& flag, const std::string& file);

// Throws OutputError when something that was printed has not arrived (a full disk). Call it at the end.
void finish_standard_output();

}  // namespace holdfast::tools
