// A pattern (first line) and a text: within the number of steps that glob.h promises.
#include <cstdlib>

#include "sim/redis/glob.h"
#include "tools/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = holdfast::fuzz::text_of(data, size);
  const std::string_view pattern = holdfast::fuzz::take_line(text);
  std::size_t steps = 0;
  static_cast<void>(holdfast::sim::embedded::glob_match(pattern, text, &steps));
  if (steps > (pattern.size() + 1) * (text.size() + 1)) std::abort();
  return 0;
}
