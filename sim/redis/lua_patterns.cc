#include "sim/redis/lua_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <lua5.1/lua.hpp>

#include "sim/redis/script_engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr int kMostCaptures = 32;  // LUA_MAXCAPTURES
constexpr int kMostDescents = 16 * 1024;

// One pattern at one subject. A pattern ends at its first NUL, as in Lua 5.1; a subject may have any bytes.
// Nothing in here has a destructor: errors of Lua jump over these frames.
class Matcher {
 public:
  Matcher(lua_State* lua, ScriptEngine& engine, const char* subject, std::size_t size)
      : lua_(lua), engine_(engine), begin_(subject), end_(subject + size) {}

  const char* end() const { return end_; }
  void charge_rest() {
    engine_.charge(steps_);
    steps_ = 0;
  }

  // Where a match that begins at `at` ends, or null.
  const char* match_at(const char* at, const char* pattern) {
    captures_ = 0;
    return match(at, pattern);
  }
  // Pushes the captures; the whole match when there is none and `at` is not null. Returns how many.
  int push_captures(const char* at, const char* match_end) {
    charge_rest();
    const int count = captures_ == 0 && at != nullptr ? 1 : captures_;
    luaL_checkstack(lua_, count, "too many captures");
    for (int i = 0; i < count; ++i) push_capture(i, at, match_end);
    return count;
  }
  void push_capture(int which, const char* at, const char* match_end) {
    if (which >= captures_) {
      if (which != 0) luaL_error(lua_, "invalid capture index");
      return lua_pushlstring(lua_, at, static_cast<std::size_t>(match_end - at));
    }
    const Capture& one = capture_[static_cast<std::size_t>(which)];
    if (one.size == kOpen) luaL_error(lua_, "unfinished capture");
    if (one.size == kPosition) return lua_pushinteger(lua_, one.begin - begin_ + 1);
    lua_pushlstring(lua_, one.begin, static_cast<std::size_t>(one.size));
  }

 private:
  static constexpr std::ptrdiff_t kOpen = -1, kPosition = -2;
  struct Capture {
    const char* begin;
    std::ptrdiff_t size;
  };

  void step() {
    if (++steps_ < kInstructionsPerCount) return;
    steps_ = 0;
    engine_.count(lua_);
  }

  // What follows the single item (a character, a class, a set) at `p`.
  const char* item_end(const char* p) {
    const char first = *p++;
    if (first == '%') {
      if (*p == '\0') luaL_error(lua_, "malformed pattern (ends with '%%')");
      return p + 1;
    }
    if (first != '[') return p;
    if (*p == '^') ++p;
    do {  // the first one is never the end
      if (*p == '\0') luaL_error(lua_, "malformed pattern (missing ']')");
      if (*p++ == '%' && *p != '\0') ++p;
    } while (*p != ']');
    return p + 1;
  }

  static bool in_class(unsigned char c, char letter) {
    bool in = false;
    switch (std::tolower(static_cast<unsigned char>(letter))) {
      case 'a': in = std::isalpha(c) != 0; break;
      case 'c': in = std::iscntrl(c) != 0; break;
      case 'd': in = std::isdigit(c) != 0; break;
      case 'l': in = std::islower(c) != 0; break;
      case 'p': in = std::ispunct(c) != 0; break;
      case 's': in = std::isspace(c) != 0; break;
      case 'u': in = std::isupper(c) != 0; break;
      case 'w': in = std::isalnum(c) != 0; break;
      case 'x': in = std::isxdigit(c) != 0; break;
      case 'z': in = c == 0; break;
      default: return static_cast<unsigned char>(letter) == c;
    }
    return std::islower(static_cast<unsigned char>(letter)) != 0 ? in : !in;
  }

  // The set [p, last], brackets included.
  static bool in_set(unsigned char c, const char* p, const char* last) {
    const auto byte = [](const char* at) { return static_cast<unsigned char>(*at); };
    const bool wanted = p[1] != '^';
    p += wanted ? 1 : 2;
    for (; p < last; ++p) {
      if (*p == '%') {
        ++p;
        if (in_class(c, *p)) return wanted;
      } else if (p[1] == '-' && p + 2 < last) {
        if (byte(p) <= c && c <= byte(p + 2)) return wanted;
        p += 2;
      } else if (byte(p) == c) {
        return wanted;
      }
    }
    return !wanted;
  }

  // The item [p, after) at one character.
  static bool fits(unsigned char c, const char* p, const char* after) {
    switch (*p) {
      case '.': return true;
      case '%': return in_class(c, p[1]);
      case '[': return in_set(c, p, after - 1);
      default: return static_cast<unsigned char>(*p) == c;
    }
  }
  bool fits_here(const char* s, const char* p, const char* after) {
    step();
    return s < end_ && fits(static_cast<unsigned char>(*s), p, after);
  }

  const char* match(const char* s, const char* p) {
    if (++depth_ > kMostDescents) luaL_error(lua_, "pattern too complex");
    const char* const found = match_rest(s, p);
    --depth_;
    return found;
  }

  const char* match_rest(const char* s, const char* p) {
    while (*p != '\0') {
      step();
      if (*p == '(') return p[1] == ')' ? open(s, p + 2, kPosition) : open(s, p + 1, kOpen);
      if (*p == ')') return close(s, p + 1);
      if (*p == '$' && p[1] == '\0') return s == end_ ? s : nullptr;
      if (*p == '%' && p[1] == 'b') {
        s = balanced(s, p + 2);
        if (s == nullptr) return nullptr;
        p += 4;
        continue;
      }
      if (*p == '%' && p[1] == 'f') {
        p += 2;
        if (*p != '[') luaL_error(lua_, "missing '[' after '%%f' in pattern");
        const char* const after = item_end(p);
        const unsigned char before = s == begin_ ? '\0' : static_cast<unsigned char>(s[-1]);
        const unsigned char now = static_cast<unsigned char>(*s);  // a NUL stands behind the subject
        if (in_set(before, p, after - 1) || !in_set(now, p, after - 1)) return nullptr;
        p = after;
        continue;
      }
      if (*p == '%' && std::isdigit(static_cast<unsigned char>(p[1])) != 0) {
        s = same_again(s, p[1]);
        if (s == nullptr) return nullptr;
        p += 2;
        continue;
      }
      const char* const after = item_end(p);
      switch (*after) {
        case '?':
          if (fits_here(s, p, after)) {
            if (const char* const found = match(s + 1, after + 1); found != nullptr) return found;
          }
          p = after + 1;
          continue;
        case '*': return most(s, p, after);
        case '+': return fits_here(s, p, after) ? most(s + 1, p, after) : nullptr;
        case '-': return fewest(s, p, after);
        default:
          if (!fits_here(s, p, after)) return nullptr;
          ++s;
          p = after;
      }
    }
    return s;
  }

  const char* most(const char* s, const char* p, const char* after) {
    std::ptrdiff_t count = 0;
    while (fits_here(s + count, p, after)) ++count;
    for (; count >= 0; --count) {
      if (const char* const found = match(s + count, after + 1); found != nullptr) return found;
    }
    return nullptr;
  }

  const char* fewest(const char* s, const char* p, const char* after) {
    for (;; ++s) {
      if (const char* const found = match(s, after + 1); found != nullptr) return found;
      if (!fits_here(s, p, after)) return nullptr;
    }
  }

  const char* open(const char* s, const char* p, std::ptrdiff_t kind) {
    if (captures_ >= kMostCaptures) luaL_error(lua_, "too many captures");
    capture_[static_cast<std::size_t>(captures_)] = {s, kind};
    ++captures_;
    const char* const found = match(s, p);
    if (found == nullptr) --captures_;
    return found;
  }

  const char* close(const char* s, const char* p) {
    int last = captures_ - 1;
    while (last >= 0 && capture_[static_cast<std::size_t>(last)].size != kOpen) --last;
    if (last < 0) luaL_error(lua_, "invalid pattern capture");
    Capture& one = capture_[static_cast<std::size_t>(last)];
    one.size = s - one.begin;
    const char* const found = match(s, p);
    if (found == nullptr) one.size = kOpen;
    return found;
  }

  const char* balanced(const char* s, const char* pair) {
    if (pair[0] == '\0' || pair[1] == '\0') luaL_error(lua_, "unbalanced pattern");
    if (s >= end_ || *s != pair[0]) return nullptr;
    int open = 1;
    while (++s < end_) {
      step();
      if (*s == pair[1]) {
        if (--open == 0) return s + 1;
      } else if (*s == pair[0]) {
        ++open;
      }
    }
    return nullptr;
  }

  const char* same_again(const char* s, char digit) {
    const int which = digit - '1';
    if (which < 0 || which >= captures_ || capture_[static_cast<std::size_t>(which)].size == kOpen) {
      luaL_error(lua_, "invalid capture index");
    }
    const Capture& one = capture_[static_cast<std::size_t>(which)];
    const auto size = static_cast<std::size_t>(one.size);  // of a position: more than any subject has
    if (static_cast<std::size_t>(end_ - s) < size) return nullptr;
    return std::memcmp(one.begin, s, size) == 0 ? s + size : nullptr;
  }

  lua_State* lua_;
  ScriptEngine& engine_;
  const char *begin_, *end_;
  int captures_ = 0, depth_ = 0, steps_ = 0;
  std::array<Capture, kMostCaptures> capture_;
};

ScriptEngine& engine_of(lua_State* lua) {
  return **static_cast<ScriptEngine**>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int find_or_match(lua_State* lua, bool find) {
  std::size_t size = 0, pattern_size = 0;
  const char* const subject = luaL_checklstring(lua, 1, &size);
  const char* pattern = luaL_checklstring(lua, 2, &pattern_size);
  std::ptrdiff_t from = luaL_optinteger(lua, 3, 1);
  if (from < 0) from += static_cast<std::ptrdiff_t>(size) + 1;
  from = std::clamp<std::ptrdiff_t>(from - 1, 0, static_cast<std::ptrdiff_t>(size));
  ScriptEngine& engine = engine_of(lua);
  if (find && (lua_toboolean(lua, 4) != 0 || std::strpbrk(pattern, "^$*+?.([%-") == nullptr)) {
    const std::size_t at =
        std::string_view(subject, size).find({pattern, pattern_size}, static_cast<std::size_t>(from));
    engine.charge(static_cast<std::int64_t>(size) / kBytesPerInstruction);
    if (at == std::string_view::npos) return lua_pushnil(lua), 1;
    lua_pushinteger(lua, static_cast<lua_Integer>(at + 1));
    lua_pushinteger(lua, static_cast<lua_Integer>(at + pattern_size));
    return 2;
  }
  const bool anchored = *pattern == '^';
  if (anchored) ++pattern;
  Matcher matcher(lua, engine, subject, size);
  for (const char* s = subject + from; s <= matcher.end(); ++s) {
    if (const char* const end = matcher.match_at(s, pattern); end != nullptr) {
      if (!find) return matcher.push_captures(s, end);
      lua_pushinteger(lua, s - subject + 1);
      lua_pushinteger(lua, end - subject);
      return matcher.push_captures(nullptr, nullptr) + 2;
    }
    if (anchored) break;
  }
  matcher.charge_rest();
  lua_pushnil(lua);
  return 1;
}
int find(lua_State* lua) { return find_or_match(lua, true); }
int match(lua_State* lua) { return find_or_match(lua, false); }

int next_match(lua_State* lua) {  // upvalues: engine, subject, pattern, where to go on
  std::size_t size = 0;
  const char* const subject = lua_tolstring(lua, lua_upvalueindex(2), &size);
  const char* const pattern = lua_tostring(lua, lua_upvalueindex(3));
  Matcher matcher(lua, engine_of(lua), subject, size);
  for (const char* s = subject + lua_tointeger(lua, lua_upvalueindex(4)); s <= matcher.end(); ++s) {
    const char* const end = matcher.match_at(s, pattern);
    if (end == nullptr) continue;
    lua_pushinteger(lua, end - subject + (end == s ? 1 : 0));
    lua_replace(lua, lua_upvalueindex(4));
    return matcher.push_captures(s, end);
  }
  matcher.charge_rest();
  return 0;
}

int gmatch(lua_State* lua) {
  luaL_checkstring(lua, 1);
  luaL_checkstring(lua, 2);
  lua_settop(lua, 2);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, next_match, 4);
  return 1;
}

// The text with %0 to %9 in it, for one match.
void add_text(lua_State* lua, luaL_Buffer& out, Matcher& matcher, const char* s, const char* end) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, 3, &size);
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] != '%') {
      luaL_addchar(&out, text[i]);
      continue;
    }
    ++i;  // a NUL stands behind the text
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      luaL_addchar(&out, text[i]);
    } else if (text[i] == '0') {
      luaL_addlstring(&out, s, static_cast<std::size_t>(end - s));
    } else {
      matcher.push_capture(text[i] - '1', s, end);
      luaL_addvalue(&out);
    }
  }
}

void add_replacement(lua_State* lua, luaL_Buffer& out, Matcher& matcher, const char* s, const char* end) {
  if (lua_isstring(lua, 3) != 0) return add_text(lua, out, matcher, s, end);
  if (lua_istable(lua, 3)) {
    matcher.push_capture(0, s, end);
    lua_gettable(lua, 3);
  } else {
    lua_pushvalue(lua, 3);
    const int count = matcher.push_captures(s, end);
    lua_call(lua, count, 1);
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    lua_pushlstring(lua, s, static_cast<std::size_t>(end - s));
  } else if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  luaL_addvalue(&out);
}

int gsub(lua_State* lua) {
  std::size_t size = 0;
  const char* s = luaL_checklstring(lua, 1, &size);
  const char* pattern = luaL_checkstring(lua, 2);
  const int kind = lua_type(lua, 3);
  const int most = luaL_optint(lua, 4, static_cast<int>(size + 1));
  luaL_argcheck(lua,
                kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
                "string/function/table expected");
  const bool anchored = *pattern == '^';
  if (anchored) ++pattern;
  Matcher matcher(lua, engine_of(lua), s, size);
  luaL_Buffer out;
  luaL_buffinit(lua, &out);
  int count = 0;
  while (count < most) {
    const char* const end = matcher.match_at(s, pattern);
    if (end != nullptr) {
      ++count;
      add_replacement(lua, out, matcher, s, end);
    }
    if (end != nullptr && end > s) {
      s = end;
    } else if (s < matcher.end()) {
      luaL_addchar(&out, *s++);
    } else {
      break;
    }
    if (anchored) break;
  }
  matcher.charge_rest();
  luaL_addlstring(&out, s, static_cast<std::size_t>(matcher.end() - s));
  luaL_pushresult(&out);
  lua_pushinteger(lua, count);
  return 2;
}

}  // namespace

void install_patterns(lua_State* lua, ScriptEngine*& engine) {
  const std::pair<const char*, lua_CFunction> functions[] = {
      {"find", find}, {"match", match}, {"gmatch", gmatch}, {"gsub", gsub}};
  for (const auto& [name, function] : functions) {
    lua_pushlightuserdata(lua, &engine);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
}

}  // namespace holdfast::sim::embedded
