#include "checker/history/edn_value.h"

#include <algorithm>
#include <charconv>

#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr int kMostDepth = 100;

void append_canonical(const History& history, Value value, std::string& out) {
  if (value.kind() == Value::Kind::text) return append_edn_text(history.text(value.symbol()), out);
  out += history.shown(value);
}

std::string joined(const History& history, const std::vector<Value>& items, std::string_view open,
                   std::string_view close) {
  std::string text(open);
  for (const Value item : items) {
    if (text.size() > open.size()) text += ' ';
    append_canonical(history, item, text);
  }
  text += close;
  return text;
}

// The items up to `close`, whose opening character was taken.
void read_items(EdnScanner& scan, History& history, int close, int depth, std::vector<Value>& items) {
  for (scan.skip_space(); scan.peek() != close; scan.skip_space()) {
    if (scan.peek() == EdnScanner::kEnd) scan.fail(close == ']' ? "`]`" : close == ')' ? "`)`" : "`}`");
    if (scan.skip_discarded()) continue;
    items.push_back(read_edn_datum(scan, history, depth + 1));
  }
  scan.get();
}

Value sorted_structure(History& history, std::vector<std::string> parts, std::string_view open) {
  std::sort(parts.begin(), parts.end());
  std::string text(open);
  for (const std::string& part : parts) {
    if (text.size() > open.size()) text += ' ';
    text += part;
  }
  return history.structure(text + '}');
}

Value read_map(EdnScanner& scan, History& history, int depth, Value* fence) {
  std::vector<Value> items;
  scan.get();
  read_items(scan, history, '}', depth, items);
  if (items.size() % 2 != 0) scan.fail("a value for each key of the map");
  std::vector<std::string> parts;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    std::string part;
    append_canonical(history, items[i], part);
    if (fence != nullptr && (part == ":fence" || part == ":token")) *fence = items[i + 1];
    part += ' ';
    append_canonical(history, items[i + 1], part);
    parts.push_back(std::move(part));
  }
  return sorted_structure(history, std::move(parts), "{");
}

Value read_scalar(EdnScanner& scan, History& history) {
  std::string scratch;
  if (scan.peek() == '"') {
    scan.string(scratch);
    return history.text_value(scratch);
  }
  if (scan.peek() == '\\') {  // a character, which may be a delimiter
    std::string character(1, static_cast<char>(scan.get()));
    if (scan.peek() == EdnScanner::kEnd) scan.fail("a character");
    character += static_cast<char>(scan.get());
    character += scan.token(scratch);
    return history.structure(character);
  }
  const std::string_view token = scan.token(scratch);
  if (token.empty()) scan.fail("a value");
  if (token == "nil") return {};
  std::string_view digits = token;
  if (digits.front() == '+') digits.remove_prefix(1);
  if (digits.ends_with('N')) digits.remove_suffix(1);
  std::int64_t number = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end.ec == std::errc{} && end.ptr == digits.data() + digits.size()) return history.number(number);
  std::string canonical;
  if (is_whole_number(digits, canonical)) return history.number(canonical);
  return history.structure(token);
}

}  // namespace

void append_edn_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

Value read_edn_datum(EdnScanner& scan, History& history, int depth) {
  if (depth > kMostDepth) scan.fail("less depth");
  scan.skip_space();
  const int c = scan.peek();
  if (c == '{') return read_map(scan, history, depth, nullptr);
  if (c == '[' || c == '(') {
    std::vector<Value> items;
    scan.get();
    read_items(scan, history, c == '[' ? ']' : ')', depth, items);
    return history.structure(joined(history, items, "[", "]"));
  }
  if (c != '#') return read_scalar(scan, history);
  scan.get();
  if (scan.peek() == '{') {
    std::vector<Value> items;
    scan.get();
    read_items(scan, history, '}', depth, items);
    std::vector<std::string> parts;
    for (const Value item : items) append_canonical(history, item, parts.emplace_back());
    return sorted_structure(history, std::move(parts), "#{");
  }
  std::string text = "#", scratch;
  if (scan.peek() != '"') text += std::string(scan.token(scratch)) + ' ';
  append_canonical(history, read_edn_datum(scan, history, depth + 1), text);
  return history.structure(text);
}

Symbol name_of(Value value, History& history) {
  switch (value.kind()) {
    case Value::Kind::nothing: return 0;
    case Value::Kind::number: return history.intern(std::to_string(value.number()));
    case Value::Kind::great_number:
    case Value::Kind::text: return value.symbol();
    case Value::Kind::structure: break;
  }
  const std::string_view text = history.text(value.symbol());
  return text.starts_with(':') && !HOLDFAST_PLANTED(keyword_keeps_its_colon) ? history.intern(text.substr(1))
                                                                             : value.symbol();
}

void EdnValue::clear() {
  list_ = tuple_ = has_inner_ = false;
  scalar_ = fence_ = {};
  items_.clear();
  inner_.clear();
}

void EdnValue::read(EdnScanner& scan, History& history) {
  clear();
  scan.skip_space();
  std::string tag;
  if (scan.peek() == '#') {  // #jepsen.independent.Tuple [k v]
    std::string scratch;
    scan.get();
    if (scan.peek() == '{') {
      std::vector<Value> items;
      scan.get();
      read_items(scan, history, '}', 0, items);
      std::vector<std::string> parts;
      for (const Value item : items) append_canonical(history, item, parts.emplace_back());
      scalar_ = sorted_structure(history, std::move(parts), "#{");
      return;
    }
    if (scan.peek() != '"') tag = scan.token(scratch);
    scan.skip_space();
    tuple_ = tag.ends_with("Tuple");
    if (!tuple_) {
      std::string text = "#" + tag + (tag.empty() ? "" : " ");
      append_canonical(history, read_edn_datum(scan, history), text);
      scalar_ = history.structure(text);
      return;
    }
  }
  const int c = scan.peek();
  if (c == '{') {  // Jepsen's Hazelcast suite returns {:fence 7, ...}
    scalar_ = read_map(scan, history, 0, &fence_);
    return;
  }
  if (c != '[' && c != '(') {
    scalar_ = read_scalar(scan, history);
    return;
  }
  const int close = scan.get() == '[' ? ']' : ')';
  list_ = true;
  for (scan.skip_space(); scan.peek() != close; scan.skip_space()) {
    if (scan.peek() == EdnScanner::kEnd) scan.fail(close == ']' ? "`]`" : "`)`");
    if (scan.skip_discarded()) continue;
    if (items_.size() == 1 && (scan.peek() == '[' || scan.peek() == '(')) {
      const int inner_close = scan.get() == '[' ? ']' : ')';
      read_items(scan, history, inner_close, 1, inner_);
      has_inner_ = true;
      items_.emplace_back();
    } else {
      items_.push_back(read_edn_datum(scan, history, 1));
    }
  }
  scan.get();
}

Value EdnValue::whole(History& history) const {
  if (!list_) return scalar_;
  std::vector<Value> items = items_;
  if (has_inner_) items[1] = history.structure(joined(history, inner_, "[", "]"));
  return history.structure(joined(history, items, "[", "]"));
}

std::string EdnValue::apply(bool keyed, Event& event, History& history) const {
  if (empty()) return {};
  const bool of_nemesis = history.text(event.process) == "nemesis";
  const bool pair = list_ && items_.size() == 2;
  if (!fence_.empty() && (event.f == Function::acquire || event.f == Function::release)) {
    event.token = fence_;
  } else if ((keyed || tuple_) && !of_nemesis) {
    if (!pair) return "found `" + history.shown(whole(history)).substr(0, 40) + "`, expected [key value]";
    event.key = name_of(items_[0], history);
    if (event.f == Function::cas && has_inner_ && inner_.size() == 2) {
      event.token = inner_[0];
      event.value = inner_[1];
      return {};
    }
    event.value = has_inner_ ? history.structure(joined(history, inner_, "[", "]")) : items_[1];
    if (event.f == Function::cas && !event.value.empty()) {
      return "found `" + history.shown(event.value).substr(0, 40) + "`, expected [key [expected new]]";
    }
  } else if (event.f == Function::cas && pair && !has_inner_) {
    event.token = items_[0];
    event.value = items_[1];
  } else {
    event.value = whole(history);
  }
  return {};
}

}  // namespace holdfast::checker
