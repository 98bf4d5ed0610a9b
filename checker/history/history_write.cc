// Writes JSON lines. Text is scanned for what must be escaped; the rest is copied.
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "checker/history/history_jsonl.h"

namespace holdfast::checker {

namespace {

template <class T>
void append_number(T number, std::string& out) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// The length of the UTF-8 sequence at the start of `text`; 0: it is not UTF-8 (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) > 0x9F) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) > 0x8F) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(unsigned code, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xFU];
}

}  // namespace

void append_json_text(std::string_view text, std::string& out) {
  out += '"';
  std::size_t plain = 0;  // where the text begins that needs no escape
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++i;
      continue;
    }
    const std::size_t length = c < 0x80 ? 0 : utf8_length(text.substr(i));
    if (length > 0) {
      i += length;
      continue;
    }
    out.append(text.substr(plain, i - plain));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      append_escaped(c < 0x20 ? c : 0xDC00U + c, out);
    }
    plain = ++i;
  }
  out.append(text.substr(plain));
  out += '"';
}

namespace {

// A structure of another format is wrapped: {"edn":":a"}.
void append_value(const History& history, Value value, std::string& out) {
  switch (value.kind()) {
    case Value::Kind::nothing: out += "null"; return;
    case Value::Kind::number: return append_number(value.number(), out);
    case Value::Kind::great_number: out += history.text(value.symbol()); return;
    case Value::Kind::text: return append_json_text(history.text(value.symbol()), out);
    case Value::Kind::structure: break;
  }
  const std::string_view text = history.text(value.symbol());
  if (nlohmann::json::accept(text)) {
    out += text;
    return;
  }
  out += "{\"edn\":";
  append_json_text(text, out);
  out += '}';
}

}  // namespace

void append_jsonl(const History& history, std::size_t position, std::uint64_t index, std::string& out) {
  const Event& event = history.events()[position];
  out += "{\"index\":";
  append_number(index, out);
  out += ",\"time\":";
  append_number(event.time_ns, out);
  out += ",\"process\":";
  append_json_text(history.text(event.process), out);
  out += ",\"type\":\"";
  out += to_string(event.type);
  out += "\",\"f\":";
  append_json_text(event.f == Function::other ? history.text(event.error) : to_string(event.f), out);
  const auto text = [&](std::string_view name, Symbol symbol) {
    if (symbol == 0) return;
    out += ",\"";
    out += name;
    out += "\":";
    append_json_text(history.text(symbol), out);
  };
  const auto number = [&](std::string_view name, std::int64_t value) {
    if (value == kAbsent) return;
    out += ",\"";
    out += name;
    out += "\":";
    append_number(value, out);
  };
  text("key", event.key);
  text("id", event.id);
  text("owner", event.owner);
  text("mode", event.mode);
  if (event.permits != 0) number("permits", event.permits);
  const auto put = [&](std::string_view name, Value value) {
    if (value.empty()) return;
    out += name;
    append_value(history, value, out);
  };
  put(",\"value\":", event.value);
  put(",\"token\":", event.token);
  number("valid_until", event.valid_until_ns);
  text("node", event.node);
  if (event.f != Function::other) text("error", event.error);
  out += "}\n";
}

void write_jsonl(const History& history, std::ostream& out) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  std::string block;
  block.reserve(kBlock + 4096);
  for (std::size_t i = 0; i < history.events().size(); ++i) {
    append_jsonl(history, i, i, block);
    if (block.size() < kBlock) continue;
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
    block.clear();
  }
  out.write(block.data(), static_cast<std::streamsize>(block.size()));
}

std::string to_jsonl(const History& history) {
  std::string text;
  text.reserve(history.events().size() * 160);
  for (std::size_t i = 0; i < history.events().size(); ++i) append_jsonl(history, i, i, text);
  return text;
}

}  // namespace holdfast::checker
