// The Lua library cmsgpack of the embedded Redis. What was unpacked can be packed, or is an error.
#include "tools/fuzz/call_script.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return holdfast::fuzz::call_script(R"lua(
local whole = ARGV[1] .. "\n" .. ARGV[2]
local ok, value = pcall(cmsgpack.unpack, whole)
if ok then pcall(cmsgpack.pack, value) end
pcall(cmsgpack.unpack_one, whole, #ARGV[1])
pcall(cmsgpack.unpack_limit, whole, 3, 0)
return 1
)lua",
                                     data, size);
}
