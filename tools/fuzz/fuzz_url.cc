// A URL of a Redis: options, or BadUrl.
#include "lib/redis/url.h"
#include "tools/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    static_cast<void>(holdfast::redis::options_from_url(holdfast::fuzz::text_of(data, size)));
  } catch (const holdfast::redis::BadUrl&) {
  }
  return 0;
}
