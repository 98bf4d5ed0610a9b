// The library `cmsgpack` of Redis' Lua: MessagePack. Whole numbers are packed as integers, tables with
// keys 1..n as arrays, others as maps.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <lua5.1/lua.hpp>

#include "sim/redis/lua_api.h"

namespace holdfast::sim::embedded {
namespace {

constexpr int kMaxNesting = 16;

// Appends the packed value at stack index `at` (absolute) to what stands at index 1.
void pack_value(lua_State* lua, int at, int depth);

// What is packed so far: a userdata at index 1, so that an error of Lua (a long jump) leaves nothing behind.
// It is replaced by one of twice the size when it is full.
struct Packed {
  std::size_t size, capacity;
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

Packed* push_packed(lua_State* lua, std::size_t capacity) {
  auto* packed = static_cast<Packed*>(lua_newuserdata(lua, sizeof(Packed) + capacity));
  *packed = {0, capacity};
  return packed;
}

void append(lua_State* lua, const char* bytes, std::size_t size) {
  auto* packed = static_cast<Packed*>(lua_touserdata(lua, 1));
  if (packed->capacity - packed->size < size) {
    luaL_checkstack(lua, 1, "table is nested too deeply");
    Packed* larger = push_packed(lua, std::max(2 * packed->capacity, packed->size + size));
    std::memcpy(larger->bytes(), packed->bytes(), packed->size);
    larger->size = packed->size;
    lua_replace(lua, 1);
    packed = larger;
  }
  std::memcpy(packed->bytes() + packed->size, bytes, size);
  packed->size += size;
}

std::size_t header(char* to, unsigned mark, std::uint64_t value, int bytes) {
  to[0] = static_cast<char>(mark);
  for (int i = 0; i < bytes; ++i) to[1 + i] = static_cast<char>(value >> (8 * (bytes - 1 - i)) & 0xFF);
  return static_cast<std::size_t>(bytes) + 1;
}

void append_header(lua_State* lua, unsigned mark, std::uint64_t value, int bytes) {
  char text[9];
  const std::size_t size = header(text, mark, value, bytes);
  append(lua, text, size);
}

void pack_number(lua_State* lua, double value) {
  if (std::floor(value) != value || std::fabs(value) >= 9223372036854775808.0) {
    const auto narrow = static_cast<float>(value);
    if (static_cast<double>(narrow) == value)
      return append_header(lua, 0xCA, std::bit_cast<std::uint32_t>(narrow), 4);
    return append_header(lua, 0xCB, std::bit_cast<std::uint64_t>(value), 8);
  }
  const auto whole = static_cast<std::int64_t>(value);
  const auto bits = static_cast<std::uint64_t>(whole);
  if (whole >= 0) {
    if (whole <= 0x7F)
      append_header(lua, static_cast<unsigned>(whole), 0, 0);
    else if (whole <= 0xFF)
      append_header(lua, 0xCC, bits, 1);
    else if (whole <= 0xFFFF)
      append_header(lua, 0xCD, bits, 2);
    else if (whole <= 0xFFFFFFFFLL)
      append_header(lua, 0xCE, bits, 4);
    else
      append_header(lua, 0xCF, bits, 8);
  } else if (whole >= -32) {
    append_header(lua, static_cast<unsigned>(whole & 0xFF), 0, 0);
  } else if (whole >= -128) {
    append_header(lua, 0xD0, bits, 1);
  } else if (whole >= -32768) {
    append_header(lua, 0xD1, bits, 2);
  } else if (whole >= -2147483648LL) {
    append_header(lua, 0xD2, bits, 4);
  } else {
    append_header(lua, 0xD3, bits, 8);
  }
}

bool is_array(lua_State* lua, int at, std::size_t& count) {
  count = 0;
  double highest = 0;
  lua_pushnil(lua);
  while (lua_next(lua, at) != 0) {
    lua_pop(lua, 1);
    const double key = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : 0;
    if (key < 1 || std::floor(key) != key) {
      lua_pop(lua, 1);
      return false;
    }
    highest = std::fmax(highest, key);
    ++count;
  }
  return count > 0 && highest == static_cast<double>(count);
}

void pack_table(lua_State* lua, int at, int depth) {
  if (depth >= kMaxNesting) {
    const char nil = static_cast<char>(0xC0);
    return append(lua, &nil, 1);
  }
  luaL_checkstack(lua, 6, "table is nested too deeply");
  std::size_t count = 0;
  const bool array = is_array(lua, at, count);
  if (array) {
    if (count <= 15)
      append_header(lua, 0x90 | static_cast<unsigned>(count), 0, 0);
    else if (count <= 0xFFFF)
      append_header(lua, 0xDC, count, 2);
    else
      append_header(lua, 0xDD, count, 4);
    for (std::size_t i = 1; i <= count; ++i) {
      lua_rawgeti(lua, at, static_cast<int>(i));
      pack_value(lua, lua_gettop(lua), depth + 1);
      lua_pop(lua, 1);
    }
    return;
  }
  count = 0;
  lua_pushnil(lua);
  while (lua_next(lua, at) != 0) {
    lua_pop(lua, 1);
    ++count;
  }
  if (count <= 15)
    append_header(lua, 0x80 | static_cast<unsigned>(count), 0, 0);
  else if (count <= 0xFFFF)
    append_header(lua, 0xDE, count, 2);
  else
    append_header(lua, 0xDF, count, 4);
  lua_pushnil(lua);
  while (lua_next(lua, at) != 0) {  // key, value
    pack_value(lua, lua_gettop(lua) - 1, depth + 1);
    pack_value(lua, lua_gettop(lua), depth + 1);
    lua_pop(lua, 1);
  }
}

void pack_value(lua_State* lua, int at, int depth) {
  switch (lua_type(lua, at)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, at, &size);
      if (size < 32)
        append_header(lua, 0xA0 | static_cast<unsigned>(size), 0, 0);
      else if (size <= 0xFF)
        append_header(lua, 0xD9, size, 1);
      else if (size <= 0xFFFF)
        append_header(lua, 0xDA, size, 2);
      else
        append_header(lua, 0xDB, size, 4);
      append(lua, text, size);
      return;
    }
    case LUA_TNUMBER: return pack_number(lua, lua_tonumber(lua, at));
    case LUA_TBOOLEAN: return append_header(lua, lua_toboolean(lua, at) != 0 ? 0xC3 : 0xC2, 0, 0);
    case LUA_TTABLE: return pack_table(lua, at, depth);
    default: return append_header(lua, 0xC0, 0, 0);
  }
}

int pack(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
  push_packed(lua, 256);
  lua_insert(lua, 1);
  for (int i = 2; i <= count + 1; ++i) pack_value(lua, i, 0);
  auto* packed = static_cast<Packed*>(lua_touserdata(lua, 1));
  lua_pushlstring(lua, packed->bytes(), packed->size);
  return 1;
}

struct Input {
  const unsigned char* at;
  std::size_t left;
};

std::uint64_t take(lua_State* lua, Input& in, std::size_t bytes) {
  if (in.left < bytes) luaL_error(lua, "Missing bytes in input.");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | in.at[i];
  in.at += bytes;
  in.left -= bytes;
  return value;
}

void unpack_value(lua_State* lua, Input& in);

void text(lua_State* lua, Input& in, std::uint64_t size) {
  if (in.left < size) luaL_error(lua, "Missing bytes in input.");
  lua_pushlstring(lua, reinterpret_cast<const char*>(in.at), size);
  in.at += size;
  in.left -= size;
}
void array(lua_State* lua, Input& in, std::uint64_t count) {
  lua_newtable(lua);
  luaL_checkstack(lua, 1, "in function mp_decode_to_lua_array");
  for (std::uint64_t i = 1; i <= count; ++i) {
    lua_pushnumber(lua,
                   static_cast<double>(i));  // below the value, as in Redis: it says how deep one may nest
    unpack_value(lua, in);
    lua_rawset(lua, -3);
  }
}
void map(lua_State* lua, Input& in, std::uint64_t count) {
  lua_newtable(lua);
  for (std::uint64_t i = 0; i < count; ++i) {
    unpack_value(lua, in);
    unpack_value(lua, in);
    lua_settable(lua, -3);
  }
}

void unpack_value(lua_State* lua, Input& in) {
  luaL_checkstack(lua, 1, "too many return values at once; use unpack_one or unpack_limit instead.");
  const auto mark = static_cast<unsigned>(take(lua, in, 1));
  const auto integer = [&](std::size_t bytes) {
    const auto shift = static_cast<int>(64 - 8 * bytes);
    lua_pushnumber(lua,
                   static_cast<double>(static_cast<std::int64_t>(take(lua, in, bytes) << shift) >> shift));
  };
  if (mark <= 0x7F) return lua_pushnumber(lua, mark);
  if (mark >= 0xE0) return lua_pushnumber(lua, static_cast<double>(static_cast<int>(mark) - 256));
  if (mark <= 0x8F) return map(lua, in, mark & 15);
  if (mark <= 0x9F) return array(lua, in, mark & 15);
  if (mark <= 0xBF) return text(lua, in, mark & 31);
  switch (mark) {
    case 0xC0: return lua_pushnil(lua);
    case 0xC2: return lua_pushboolean(lua, 0);
    case 0xC3: return lua_pushboolean(lua, 1);
    case 0xCA:
      return lua_pushnumber(
          lua, static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(take(lua, in, 4)))));
    case 0xCB: return lua_pushnumber(lua, std::bit_cast<double>(take(lua, in, 8)));
    case 0xCC:
    case 0xCD:
    case 0xCE:
    case 0xCF:
      return lua_pushnumber(lua, static_cast<double>(take(lua, in, std::size_t{1} << (mark - 0xCC))));
    case 0xD0:
    case 0xD1:
    case 0xD2:
    case 0xD3: return integer(std::size_t{1} << (mark - 0xD0));
    case 0xC4:
    case 0xD9: return text(lua, in, take(lua, in, 1));
    case 0xC5:
    case 0xDA: return text(lua, in, take(lua, in, 2));
    case 0xC6:
    case 0xDB: return text(lua, in, take(lua, in, 4));
    case 0xDC: return array(lua, in, take(lua, in, 2));
    case 0xDD: return array(lua, in, take(lua, in, 4));
    case 0xDE: return map(lua, in, take(lua, in, 2));
    case 0xDF: return map(lua, in, take(lua, in, 4));
    default: luaL_error(lua, "Bad data format in input.");
  }
}

// The next value and the offset behind it (-1 at the end), or all of them.
int unpack_some(lua_State* lua, long limit, long offset, bool tell_offset) {
  std::size_t size = 0;
  const char* bytes = luaL_checklstring(lua, 1, &size);
  if (offset < 0 || static_cast<std::size_t>(offset) > size) {
    return luaL_error(lua, "Start offset %d greater than input length %d.", static_cast<int>(offset),
                      static_cast<int>(size));
  }
  Input in{reinterpret_cast<const unsigned char*>(bytes) + offset, size - static_cast<std::size_t>(offset)};
  int count = 0;
  for (; in.left > 0 && (limit == 0 || count < limit); ++count) unpack_value(lua, in);
  if (!tell_offset) return count;
  lua_pushnumber(lua, in.left == 0 ? -1.0 : static_cast<double>(size - in.left));
  lua_insert(lua, -(count + 1));
  return count + 1;
}
int unpack(lua_State* lua) { return unpack_some(lua, 0, 0, false); }
int unpack_one(lua_State* lua) {
  return unpack_some(lua, 1, static_cast<long>(luaL_optinteger(lua, 2, 0)), true);
}
int unpack_limit(lua_State* lua) {
  return unpack_some(lua, static_cast<long>(luaL_checkinteger(lua, 2)),
                     static_cast<long>(luaL_optinteger(lua, 3, 0)), true);
}

}  // namespace

int open_message_pack_library(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {{"pack", pack},
                                            {"unpack", unpack},
                                            {"unpack_one", unpack_one},
                                            {"unpack_limit", unpack_limit},
                                            {nullptr, nullptr}};
  luaL_register(lua, "cmsgpack", kFunctions);
  return 1;
}

}  // namespace holdfast::sim::embedded
