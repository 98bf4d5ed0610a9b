// The library `struct` of Redis' Lua: binary packing by a format string.
//
// Formats: < > = ! for byte order and alignment, x padding, b B h H l L T i I(n) integers, f d floats, s
// zero-ended and c(n) fixed strings (c0: length from the number before it).
#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>

#include <lua5.1/lua.hpp>

#include "sim/redis/lua_api.h"

namespace holdfast::sim::embedded {
namespace {

constexpr int kMaxInteger = 32;  // bytes; those beyond the eighth are zero, and are not looked at
constexpr int kNativeAlign = 8;

struct Layout {
  bool little = true;
  int align = 1;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int number(lua_State* lua, const char*& format, int otherwise) {
  if (!is_digit(*format)) return otherwise;
  long value = 0;
  while (is_digit(*format)) {
    value = value * 10 + (*format++ - '0');
    if (value > INT_MAX) luaL_error(lua, "integral size overflow");
  }
  return static_cast<int>(value);
}

int size_of(lua_State* lua, char option, const char*& format) {
  switch (option) {
    case 'b':
    case 'B':
    case 'x': return 1;
    case 'h':
    case 'H': return 2;
    case 'l':
    case 'L':
    case 'T': return 8;
    case 'f': return 4;
    case 'd': return 8;
    case 'c': return number(lua, format, 1);
    case 'i':
    case 'I': {
      const int size = number(lua, format, 4);
      if (size > kMaxInteger)
        luaL_error(lua, "integral size %d is larger than limit of %d", size, kMaxInteger);
      return size;
    }
    default: return 0;
  }
}

int padding(std::size_t length, const Layout& layout, char option, int size) {
  if (size == 0 || option == 'c' || option == 'x' || option == 's') return 0;
  const int align = size < layout.align ? size : layout.align;
  if (align <= 1 || (align & (align - 1)) != 0) return 0;
  return (align - static_cast<int>(length & static_cast<std::size_t>(align - 1))) & (align - 1);
}

void control(lua_State* lua, char option, const char*& format, Layout& layout) {
  switch (option) {
    case ' ': return;
    case '>': layout.little = false; return;
    case '<': layout.little = true; return;
    case '=': layout.little = true; return;
    case '!': {
      const int align = number(lua, format, kNativeAlign);
      if (align == 0 || (align & (align - 1)) != 0) {
        luaL_error(lua, "alignment %d is not a power of 2", align);
      }
      layout.align = align;
      return;
    }
    default: luaL_error(lua, "invalid format option '%c'", option);
  }
}

void put_integer(luaL_Buffer& to, std::uint64_t value, int size, bool little) {
  char bytes[kMaxInteger];
  for (int i = 0; i < size; ++i) {
    bytes[little ? i : size - 1 - i] = static_cast<char>(value & 0xFF);
    value >>= 8;
  }
  luaL_addlstring(&to, bytes, static_cast<std::size_t>(size));
}

std::uint64_t get_integer(const char* from, int size, bool little) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(from[little ? size - 1 - i : i]);
  }
  return value;
}

int pack(lua_State* lua) {
  const char* format = luaL_checkstring(lua, 1);
  Layout layout;
  luaL_Buffer out;
  int arg = 2;
  std::size_t total = 0;
  lua_pushnil(lua);  // so that a missing argument is told from the buffer's own values
  luaL_buffinit(lua, &out);
  while (*format != '\0') {
    const char option = *format++;
    int size = size_of(lua, option, format);
    for (int pad = padding(total, layout, option, size); pad > 0; --pad, ++total) luaL_addchar(&out, '\0');
    switch (option) {
      case 'b':
      case 'B':
      case 'h':
      case 'H':
      case 'l':
      case 'L':
      case 'T':
      case 'i':
      case 'I': {
        const double value = luaL_checknumber(lua, arg++);
        const auto bits =
            value < 0        ? static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(value, -0x1p63)))
            : value < 0x1p64 ? static_cast<std::uint64_t>(value)
            : std::isnan(value) ? std::uint64_t{1} << 63U  // as redis-server does on x86-64
                                : 0;
        put_integer(out, bits, size, layout.little);
        break;
      }
      case 'x': luaL_addchar(&out, '\0'); break;
      case 'f':
        put_integer(out, std::bit_cast<std::uint32_t>(static_cast<float>(luaL_checknumber(lua, arg++))), 4,
                    layout.little);
        break;
      case 'd':
        put_integer(out, std::bit_cast<std::uint64_t>(luaL_checknumber(lua, arg++)), 8, layout.little);
        break;
      case 'c':
      case 's': {
        std::size_t length = 0;
        const char* text = luaL_checklstring(lua, arg++, &length);
        if (option == 's' || size == 0) size = static_cast<int>(length);
        luaL_argcheck(lua, length >= static_cast<std::size_t>(size), arg, "string too short");
        luaL_addlstring(&out, text, static_cast<std::size_t>(size));
        if (option == 's') {
          luaL_addchar(&out, '\0');
          ++size;
        }
        break;
      }
      default: control(lua, option, format, layout); break;
    }
    total += static_cast<std::size_t>(size);
  }
  luaL_pushresult(&out);
  return 1;
}

int unpack(lua_State* lua) {
  const char* format = luaL_checkstring(lua, 1);
  std::size_t length = 0;
  const char* data = luaL_checklstring(lua, 2, &length);
  auto pos = static_cast<std::size_t>(luaL_optinteger(lua, 3, 1));  // below zero: far behind the end
  luaL_argcheck(lua, pos > 0, 3, "offset must be 1 or greater");
  --pos;
  Layout layout;
  int count = 0;
  while (*format != '\0') {
    const char option = *format++;
    int size = size_of(lua, option, format);
    pos += static_cast<std::size_t>(padding(pos, layout, option, size));
    luaL_argcheck(lua,
                  static_cast<std::size_t>(size) <= length && pos <= length - static_cast<std::size_t>(size),
                  2, "data string too short");
    luaL_checkstack(lua, 2, "too many results");
    switch (option) {
      case 'b':
      case 'B':
      case 'h':
      case 'H':
      case 'l':
      case 'L':
      case 'T':
      case 'i':
      case 'I': {
        std::uint64_t bits = get_integer(data + pos, size, layout.little);
        const bool is_signed = option == 'b' || option == 'h' || option == 'l' || option == 'i';
        if (is_signed && size > 0) {
          // Above eight bytes this is what redis-server does on x86-64, where counts of shifts are modulo 64.
          const std::uint64_t sign_and_above = ~std::uint64_t{0}
                                               << static_cast<unsigned>((8 * size - 1) & 63);
          if ((bits & sign_and_above) != 0) bits |= sign_and_above;
          lua_pushnumber(lua, static_cast<double>(static_cast<std::int64_t>(bits)));
        } else {
          lua_pushnumber(lua, static_cast<double>(bits));
        }
        ++count;
        break;
      }
      case 'x': break;
      case 'f':
        lua_pushnumber(lua, static_cast<double>(std::bit_cast<float>(
                                static_cast<std::uint32_t>(get_integer(data + pos, 4, layout.little)))));
        ++count;
        break;
      case 'd':
        lua_pushnumber(lua, std::bit_cast<double>(get_integer(data + pos, 8, layout.little)));
        ++count;
        break;
      case 'c':
        if (size == 0) {
          if (count == 0 || !lua_isnumber(lua, -1)) luaL_error(lua, "format 'c0' needs a previous size");
          double wanted = lua_tonumber(lua, -1);
          if (wanted >= 18446744073709551616.0) wanted = 0;  // as the processor converts
          lua_pop(lua, 1);
          --count;
          luaL_argcheck(lua, wanted > -1 && std::floor(wanted) <= static_cast<double>(length - pos), 2,
                        "data string too short");
          size = static_cast<int>(wanted);
        }
        lua_pushlstring(lua, data + pos, static_cast<std::size_t>(size));
        ++count;
        break;
      case 's': {
        const void* end = std::memchr(data + pos, '\0', length - pos);
        if (end == nullptr) luaL_error(lua, "unfinished string in data");
        size = static_cast<int>(static_cast<const char*>(end) - (data + pos)) + 1;
        lua_pushlstring(lua, data + pos, static_cast<std::size_t>(size - 1));
        ++count;
        break;
      }
      default: control(lua, option, format, layout); break;
    }
    pos += static_cast<std::size_t>(size);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(pos + 1));
  return count + 1;
}

int size(lua_State* lua) {
  const char* format = luaL_checkstring(lua, 1);
  Layout layout;
  std::size_t pos = 0;
  while (*format != '\0') {
    const char option = *format++;
    const int bytes = size_of(lua, option, format);
    pos += static_cast<std::size_t>(padding(pos, layout, option, bytes));
    if (option == 's') luaL_argerror(lua, 1, "variable-size format in sizeof");
    if (option == 'c' && bytes == 0) luaL_argerror(lua, 1, "variable-length format in sizeof");
    if (bytes == 0 && option != 'i' && option != 'I') control(lua, option, format, layout);
    pos += static_cast<std::size_t>(bytes);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(pos));
  return 1;
}

}  // namespace

int open_struct_library(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {
      {"pack", pack}, {"unpack", unpack}, {"size", size}, {nullptr, nullptr}};
  luaL_register(lua, "struct", kFunctions);
  return 1;
}

}  // namespace holdfast::sim::embedded
