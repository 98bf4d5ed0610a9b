#include "checker/story/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::checker {

namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& r) { return c >= r.first && c <= r.last; });
}

// What steers, is invisible or turns text around: C0 and C1 controls, zero-width and bidirectional marks,
// line and paragraph separators, variation selectors' tags, private use, no characters.
constexpr std::array<Range, 14> kUnsafe = {{{0x0, 0x1f},
                                            {0x7f, 0x9f},
                                            {0xad, 0xad},
                                            {0x61c, 0x61c},
                                            {0x180e, 0x180e},
                                            {0x200b, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2060, 0x206f},
                                            {0xe000, 0xf8ff},
                                            {0xfdd0, 0xfdef},
                                            {0xfeff, 0xfeff},
                                            {0xfff0, 0xffff},
                                            {0xe0000, 0xe0fff},
                                            {0xf0000, 0x10ffff}}};

constexpr std::array<Range, 8> kCombining = {{{0x300, 0x36f},
                                              {0x483, 0x489},
                                              {0x591, 0x5bd},
                                              {0x1ab0, 0x1aff},
                                              {0x1dc0, 0x1dff},
                                              {0x20d0, 0x20ff},
                                              {0xfe00, 0xfe0f},
                                              {0xfe20, 0xfe2f}}};

constexpr std::array<Range, 8> kWide = {{{0x1100, 0x115f},
                                         {0x2e80, 0x303e},
                                         {0x3041, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0x1f300, 0x3fffd}}};

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// The character at the beginning of `text`, which is not empty. Overlong forms and surrogates are not valid.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {lead, 1, false};
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {lead, 1, false};
  return {code, bytes, true};
}

std::size_t columns_of(const Character& character) {
  return within(kCombining, character.code) ? 0 : within(kWide, character.code) ? 2 : 1;
}

// How many bytes of `text` fit into `columns`.
std::size_t bytes_that_fit(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    used += columns_of(character);
    if (used > columns) break;
    at += character.bytes;
  }
  return at;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// What the log of a CI job would take for a command (GitHub Actions): `::error` where a line may begin, `##[`
// anywhere.
bool is_command(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "::") return at == 0 || is_space(text[at - 1]);
  return at > 0 && text.substr(at - 1, 3) == "##[";
}

}  // namespace

std::string printable(std::string_view text, bool unicode) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const std::string_view bytes = text.substr(at, character.bytes);
    at += character.bytes;
    const bool ascii = character.code < 0x80;
    if (is_command(text, at - bytes.size())) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
      continue;
    }
    if (character.valid && !within(kUnsafe, character.code) && (ascii || unicode)) {
      out += bytes;
    } else if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else if (character.valid && !ascii) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(character.code));
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    }
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&](std::size_t at) {
    return at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  std::size_t head = most * 2 / 3, tail = text.size() - most / 3;
  while (inside(head)) --head;
  while (inside(tail)) ++tail;
  return fmt::format("{}[... {} bytes ...]{}", text.substr(0, head), tail - head, text.substr(tail));
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    columns += columns_of(character);
    at += character.bytes;
  }
  return columns;
}

std::string elided(std::string_view text, std::size_t columns, bool unicode) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view dots = unicode ? "…" : "...";
  const std::size_t room = columns - std::min(columns, columns_of(dots));
  return std::string(text.substr(0, bytes_that_fit(text, room))) + std::string(dots);
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string out(text);
  const std::size_t used = columns_of(text);
  if (used < columns) out.append(columns - used, ' ');
  return out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 1);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto new_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    at = end;
    if (used > 0 && used + 1 + columns_of(word) > columns) new_line();
    if (used > 0) lines.back() += ' ', ++used;
    while (bytes_that_fit(word, columns) < word.size()) {
      const std::size_t part =
          std::max<std::size_t>(bytes_that_fit(word, columns), first_character(word).bytes);
      lines.back() += word.substr(0, part);
      word.remove_prefix(part);
      new_line();
      if (is_command(word, 0)) lines.back() += "\\x3a", word.remove_prefix(1);
    }
    lines.back() += word;
    used += columns_of(word);
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrapped(text, columns)) {
    if (!out.empty()) out += "\n" + std::string(indent, ' ');
    out += line;
  }
  return out;
}

std::string without_color(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "\x1b[") {
      const std::size_t end = text.find('m', at);
      if (end == std::string_view::npos) break;
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace holdfast::checker
