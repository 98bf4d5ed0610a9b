#include "tools/holdfast/check_load.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <streambuf>

#include "tools/holdfast/follow.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {

namespace {

// Hands on the bytes of a file and counts them.
class CountedBytes : public std::streambuf {
 public:
  CountedBytes(std::streambuf& from, Progress& progress, const std::string& file)
      : from_(from), progress_(progress), file_(file) {}

 protected:
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    const std::streamsize got = from_.sgetn(to, count);
    bytes_ += static_cast<std::uint64_t>(got);
    progress_.update(bytes_ >> 20, 0, "reading " + file_);
    return got;
  }
  int_type underflow() override { return from_.sgetc(); }
  int_type uflow() override {
    ++bytes_;
    return from_.sbumpc();
  }

 private:
  std::streambuf& from_;
  Progress& progress_;
  const std::string& file_;
  std::uint64_t bytes_ = 0;
};

// 0: not known.
std::uint64_t size_of(const std::string& path) {
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path, failed);
  return failed ? 0 : bytes;
}

}  // namespace

LoadedHistory load_history(const std::string& file, const CheckArguments& arguments) {
  if (arguments.follow) return follow_history(file, arguments);
  const bool standard_input = file == "-";
  std::ifstream stream;
  if (!standard_input) {
    stream.open(file, std::ios::binary);
    if (!stream) throw checker::FormatError(file, 1, 1, "this file cannot be opened");
  }
  Progress progress(standard_input ? 0 : size_of(file) >> 20, "MB");
  CountedBytes bytes(standard_input ? *std::cin.rdbuf() : *stream.rdbuf(), progress, file);
  std::istream in(&bytes);
  LoadedHistory loaded;
  loaded.read = checker::read_history(in, {.file = file,
                                           .format = arguments.format,
                                           .keyed = arguments.keyed,
                                           .keep_going = arguments.keep_going,
                                           .used = &loaded.format,
                                           .into = &loaded.packed});
  return loaded;
}

}  // namespace holdfast::tools
