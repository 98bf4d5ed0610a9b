// What the fuzz targets share. A target is one fuzz_NAME.cc with libFuzzer's LLVMFuzzerTestOneInput, its
// corpus is corpus/NAME/: a few small files, each an input. A target finds what ends the program (an
// assertion, an exception that is not the documented one, a sanitizer's report) or takes too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace holdfast::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What stands before the first newline, and takes it off `text`: targets whose input has several parts.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace holdfast::fuzz
