#include "checker/history/structure.h"

#include <charconv>

#include "checker/history/edn_value.h"

namespace holdfast::checker {

namespace {

// Both canonical forms are well formed, and no deeper than their readers allow.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  // Up to `close`, which is taken.
  std::vector<ItemText> list(char close) {
    std::vector<ItemText> items;
    for (skip(); at_ < text_.size() && text_[at_] != close; skip()) items.push_back(item());
    ++at_;
    return items;
  }
  ItemText item() {
    skip();
    if (at_ >= text_.size()) return {};
    const char c = text_[at_];
    if (c == '"') {
      ItemText text;
      append_edn_text(string(), text);
      return text;
    }
    if (c == '[' || c == '(') {
      ++at_;
      return joined("[", list(c == '[' ? ']' : ')'), ']');
    }
    if (c == '{') {
      ++at_;
      return joined("{", list('}'), '}');
    }
    if (text_.substr(at_).starts_with("#{")) {
      at_ += 2;
      return joined("#{", list('}'), '}');
    }
    const std::size_t begin = at_;
    ++at_;
    while (at_ < text_.size() && std::string_view(" ,:\"[](){}").find(text_[at_]) == std::string_view::npos)
      ++at_;
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (token == "null") return "nil";
    if (token == ":") return item();  // of a member of a JSON object
    if (token.starts_with('#')) return ItemText(token) + ' ' + item();
    return ItemText(token);
  }
  bool at_end() {
    skip();
    return at_ >= text_.size();
  }
  std::string string() {
    std::string text;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
        text += text_[at_];
        continue;
      }
      const char c = text_[++at_];
      unsigned code = 0;
      if (c == 'u' && at_ + 4 < text_.size() &&
          std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 5, code, 16).ptr ==
              text_.data() + at_ + 5) {
        text += static_cast<char>(code);  // the canonical form has it for control characters alone
        at_ += 4;
      } else {
        text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
      }
    }
    ++at_;
    return text;
  }

 private:
  static ItemText joined(std::string_view open, const std::vector<ItemText>& items, char close) {
    ItemText text(open);
    for (const ItemText& each : items) {
      if (text.size() > open.size()) text += ' ';
      text += each;
    }
    return text + close;
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ',')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// What one format keeps for the other.
std::string unwrapped(std::string_view text) {
  for (const std::string_view mark : {"{\"edn\":", "#json "}) {
    if (!text.starts_with(mark) || text.size() <= mark.size() || text[mark.size()] != '"') continue;
    return Scan(text.substr(mark.size())).string();
  }
  return std::string(text);
}

}  // namespace

ItemText item_of(const History& names, Value value) {
  if (value.kind() == Value::Kind::text) {
    ItemText text;
    append_edn_text(names.text(value.symbol()), text);
    return text;
  }
  const std::string text = names.shown(value);
  return value.kind() == Value::Kind::structure ? Scan(unwrapped(text)).item() : text;
}

std::optional<std::vector<ItemText>> items_of(const ItemText& text) {
  const std::string_view whole = text;
  for (const auto& [open, close] : {std::pair<std::string_view, char>{"[", ']'}, {"#{", '}'}}) {
    if (whole.starts_with(open)) return Scan(whole.substr(open.size())).list(close);
  }
  return std::nullopt;
}

std::string_view word_of(std::string_view item) {
  if (item.starts_with(':')) return item.substr(1);
  if (item.size() > 1 && item.front() == '"' && item.back() == '"') return item.substr(1, item.size() - 2);
  return item;
}

}  // namespace holdfast::checker
