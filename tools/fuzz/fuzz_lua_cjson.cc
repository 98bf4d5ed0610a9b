// The Lua library cjson of the embedded Redis. What was decoded can be encoded, or is an error.
#include "tools/fuzz/call_script.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return holdfast::fuzz::call_script(R"lua(
local whole = ARGV[1] .. "\n" .. ARGV[2]
local ok, value = pcall(cjson.decode, whole)
if ok then pcall(cjson.encode, value) end
pcall(cjson.encode, {whole, [whole] = whole})
return 1
)lua",
                                     data, size);
}
