// The Lua library bit of the embedded Redis. Both parts of the input are numbers.
#include "tools/fuzz/call_script.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return holdfast::fuzz::call_script(R"lua(
local a, b = tonumber(ARGV[1]) or #ARGV[1], tonumber(ARGV[2]) or #ARGV[2]
for _, name in ipairs({"tobit", "bnot", "bswap", "tohex", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror"}) do
  pcall(bit[name], a, b)
  pcall(bit[name], ARGV[1], ARGV[2])
end
return 1
)lua",
                                     data, size);
}
