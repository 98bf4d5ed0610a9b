// The Lua library struct of the embedded Redis. The first line is a format, the rest is data.
#include "tools/fuzz/call_script.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return holdfast::fuzz::call_script(R"lua(
pcall(struct.unpack, ARGV[1], ARGV[2])
pcall(struct.unpack, ARGV[1], ARGV[2], 3)
pcall(struct.pack, ARGV[1], 1, -2, ARGV[2], 3.5, ARGV[2], 6, 7, 8)
pcall(struct.size, ARGV[1])
return 1
)lua",
                                     data, size);
}
