// A history in Jepsen's EDN.
#include "tools/fuzz/read_history.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return holdfast::fuzz::read_history(data, size, holdfast::checker::Format::jepsen_edn);
}
