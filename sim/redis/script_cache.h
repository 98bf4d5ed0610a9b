// What this process has compiled: thousands of short-lived servers are sent the same few scripts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::sim::embedded {

struct CompiledScript {
  std::string sha1;  // of the text, in hex
  std::string code;  // as lua_dump() writes it, with the lines for errors; "": it does not compile
};

// `code`: the part of the text that is Lua. Null: longer than what is kept. Thread-safe. Whether a text was
// seen before shows nowhere: the code is loaded either way.
std::shared_ptr<const CompiledScript> compile_once(std::string_view text, std::string_view code);

std::string sha1_hex(std::string_view bytes);

}  // namespace holdfast::sim::embedded
