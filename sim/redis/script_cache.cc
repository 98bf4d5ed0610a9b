#include "sim/redis/script_cache.h"

#include <openssl/sha.h>

#include <functional>
#include <lua5.1/lua.hpp>
#include <unordered_map>
#include <utility>

#include "sim/redis/lua_guards.h"
#include "sim/world/process_wide.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::size_t kLongest = 64 * 1024, kMost = 1024;

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

using Scripts = std::unordered_map<std::string, std::shared_ptr<const CompiledScript>, Hash, std::equal_to<>>;

ProcessWide<Scripts>& cache() {
  static auto* const all = new ProcessWide<Scripts>;
  return *all;
}

int append(lua_State*, const void* bytes, std::size_t size, void* code) {
  static_cast<std::string*>(code)->append(static_cast<const char*>(bytes), size);
  return 0;
}

// In a state of its own, which nobody counts.
std::string compile(std::string_view code) {
  std::string compiled;
  const std::unique_ptr<lua_State, void (*)(lua_State*)> lua(luaL_newstate(), &lua_close);
  if (lua == nullptr || load_text(lua.get(), code.data(), code.size(), "@user_script") != 0) return compiled;
  if (lua_dump(lua.get(), &append, &compiled) != 0) compiled.clear();
  return compiled;
}

}  // namespace

std::string sha1_hex(std::string_view bytes) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::shared_ptr<const CompiledScript> compile_once(std::string_view text, std::string_view code) {
  if (text.size() > kLongest) return nullptr;
  std::shared_ptr<const CompiledScript> known = cache().with([text](const Scripts& scripts) {
    const auto found = scripts.find(text);
    return found == scripts.end() ? nullptr : found->second;
  });
  if (known != nullptr) return known;
  known = std::make_shared<const CompiledScript>(CompiledScript{sha1_hex(text), compile(code)});
  cache().with([&](Scripts& scripts) {
    if (scripts.size() >= kMost) scripts.clear();
    scripts.insert_or_assign(std::string(text), known);
  });
  return known;
}

}  // namespace holdfast::sim::embedded
