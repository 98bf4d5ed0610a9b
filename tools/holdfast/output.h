// Output: files, standard output and standard error that may not be writable. Nothing that is known is lost
// for it: a file of results is whole or not there, what was printed before stays printed, and the command
// goes on, says in one line what could not be written, and exits with 74.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::tools {

// Something could not be written; what() names it and the reason.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Call it first. The three standard files are there from then on (a file that is opened must not become
// standard output), and a file that grows beyond its limit is an error of write(), not the end of the
// program.
void prepare_output();

// Prints `text` at once. Never throws: finish_standard_output() tells of what did not arrive.
void print_out(std::string_view text);
// The same to standard error, of which nobody can be told.
void print_err(std::string_view text);

// Throws OutputError when something that was printed has not arrived (a full disk). Call it at the end.
void finish_standard_output();

// Writes `text` to `path`, creating its folder: first to a temporary name beside it, which is then moved, so
// that nobody ever reads half of it and an older file stays when there is no room for the new one. A device
// or a pipe is written as it is; a symbolic link stays, and what it names is replaced. Throws OutputError.
void write_file(const std::string& path, std::string_view text);

// Calls `write`, which may throw OutputError: that is told in one line on standard error, and false comes
// back.
bool try_to_write(const std::function<void()>& write);

// For flags that name what will be written, before the work that fills it: creates the folder (of the file)
// and tries. A file that is there already keeps its text. `flag`: "--out". Throws OutputError.
void require_writable_folder(const std::string& flag, const std::string& folder);
void require_writable_file(const std::string& flag, const std::string& file);

}  // namespace holdfast::tools
