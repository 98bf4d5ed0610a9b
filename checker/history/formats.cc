// Guesses a format, hands on to its reader, writes EDN.
#include "checker/history/formats.h"

#include <charconv>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <streambuf>

#include "checker/history/edn_value.h"
#include "checker/history/event_appender.h"
#include "checker/planted.h"

namespace holdfast::checker {

std::string_view to_string(Format format) {
  switch (format) {
    case Format::jsonl: return "jsonl";
    case Format::jepsen_edn: return "jepsen-edn";
    case Format::jepsen_log: return "jepsen-log";
  }
  return "jsonl";
}

std::optional<Format> parse_format(std::string_view name) {
  for (const Format format : {Format::jsonl, Format::jepsen_edn, Format::jepsen_log}) {
    if (to_string(format) == name) return format;
  }
  return std::nullopt;
}

Format guess_format(std::string_view head) {
  const auto skip = [&head](std::string_view blanks) {
    const std::size_t begin = head.find_first_not_of(blanks);
    head.remove_prefix(begin == std::string_view::npos ? head.size() : begin);
  };
  for (skip(" \t\r\n,"); head.starts_with(';'); skip(" \t\r\n,")) {
    head.remove_prefix(std::min(head.find('\n'), head.size()));
  }
  const bool nested = head.starts_with('[') || head.starts_with('(');
  if (nested) {
    head.remove_prefix(1);
    skip(" \t\r\n,");
    if (!head.starts_with('{')) return Format::jepsen_edn;
  }
  if (head.empty()) return Format::jsonl;
  if (head.starts_with('#')) return Format::jepsen_edn;
  if (!head.starts_with('{')) return Format::jepsen_log;
  // {"type": "ok"} is JSON, {"type" "ok"} and {:type :ok} are EDN.
  head.remove_prefix(1);
  skip(" \t\r\n,");
  if (head.empty() || head.starts_with('}')) return Format::jsonl;
  if (!head.starts_with('"')) return Format::jepsen_edn;
  const std::size_t close = head.find('"', 1);
  if (close == std::string_view::npos) return Format::jsonl;
  head.remove_prefix(close + 1);
  const bool apart = !head.starts_with(':');
  skip(" \t\r\n");
  if (!head.starts_with(':')) return Format::jepsen_edn;
  head.remove_prefix(1);
  const std::string_view value = head.substr(0, head.find_first_of(" \t\r\n,}"));
  const bool letter =
      !value.empty() && ((value[0] >= 'a' && value[0] <= 'z') || (value[0] >= 'A' && value[0] <= 'Z'));
  const bool of_json =
      !HOLDFAST_PLANTED(null_begins_edn) && (value == "null" || value == "true" || value == "false");
  const bool keyword = apart && letter && !of_json;
  return keyword ? Format::jepsen_edn : Format::jsonl;
}

namespace {

// The beginning of a stream, which was read to guess its format, and then the rest of the stream.
class Rejoined : public std::streambuf {
 public:
  Rejoined(std::string head, std::istream& rest) : head_(std::move(head)), rest_(rest), block_(1 << 16) {
    setg(head_.data(), head_.data(), head_.data() + head_.size());
  }

 protected:
  int_type underflow() override {
    rest_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    const auto count = rest_.gcount();
    if (count <= 0) return traits_type::eof();
    setg(block_.data(), block_.data(), block_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::string head_;
  std::istream& rest_;
  std::vector<char> block_;
};

}  // namespace

ReadHistory read_history(std::istream& in, const FormatOptions& options) {
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF") ||
      (head.size() > 1 && (head[0] == '\0') != (head[1] == '\0'))) {
    throw FormatError(
        options.file, 1, 1,
        "this file is UTF-16, expected UTF-8; `iconv -f utf-16 -t utf-8 FILE` makes such a file");
  }
  if (!HOLDFAST_PLANTED(bom_is_kept) && head.starts_with("\xEF\xBB\xBF"))
    head.erase(0, 3);  // a byte order mark
  const Format format = options.format ? *options.format : guess_format(head);
  if (options.used != nullptr) *options.used = format;
  Rejoined whole(std::move(head), in);
  std::istream all(&whole);
  switch (format) {
    case Format::jsonl: break;
    case Format::jepsen_edn: return read_edn(all, options);
    case Format::jepsen_log: return read_jepsen_log(all, options);
  }
  ReadHistory read =
      read_jsonl(all, {.file = options.file, .keep_going = options.keep_going, .into = options.into});
  if (!HOLDFAST_PLANTED(times_that_fall_stay)) sort_by_time(read, options.into);
  return read;
}

namespace {

// A structure of JSON lines that EDN writes in another way has a tag: #json "{...}".
void append_edn_value(const History& history, Value value, std::string& out) {
  if (value.kind() == Value::Kind::text) return append_edn_text(history.text(value.symbol()), out);
  const std::string text = history.shown(value);
  const bool json = value.kind() == Value::Kind::structure && text.find_first_of("{[") == 0 &&
                    text.find_first_of(",:{") != std::string::npos && nlohmann::json::accept(text);
  if (!json) return void(out += text);
  out += "#json ";
  append_edn_text(text, out);
}

bool is_number(std::string_view text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() && std::to_string(number) == text;
}

}  // namespace

void write_edn(const ReadHistory& read, std::ostream& out, bool keyed) {
  const History& history = read.history;
  std::string block;
  const auto name = [&](std::string_view label, Symbol symbol) {
    const std::string_view text = history.text(symbol);
    block += label;
    if (is_number(text)) {
      block += text;
    } else if (text == "nemesis") {
      block += ":nemesis";
    } else {
      append_edn_text(text, block);
    }
  };
  for (std::size_t i = 0; i < history.events().size(); ++i) {
    const Event& event = history.events()[i];
    block += "{:type :";
    block += to_string(event.type);
    block += ", :f :";
    block += event.f == Function::other ? history.text(event.error) : to_string(event.f);
    block += ", :value ";
    if (keyed) {
      name("[", event.key);
      block += ' ';
    }
    if (event.f == Function::cas) {
      block += '[';
      append_edn_value(history, event.token, block);
      block += ' ';
    }
    append_edn_value(history, event.value, block);
    if (event.f == Function::cas) block += ']';
    if (keyed) block += ']';
    name(", :process ", event.process);
    block += ", :time " + std::to_string(event.time_ns) + ", :index " + std::to_string(read.index_of(i));
    if (!keyed && event.key != 0) name(", :key ", event.key);
    if (event.id != 0) name(", :id ", event.id);
    if (event.owner != 0) name(", :owner ", event.owner);
    if (event.mode != 0) name(", :mode ", event.mode);
    if (event.node != 0) name(", :node ", event.node);
    if (event.permits != 0) block += ", :permits " + std::to_string(event.permits);
    if (!event.token.empty() && event.f != Function::cas) {
      block += ", :token ";
      append_edn_value(history, event.token, block);
    }
    if (event.valid_until_ns != kAbsent) block += ", :valid-until " + std::to_string(event.valid_until_ns);
    if (event.error != 0 && event.f != Function::other) name(", :error ", event.error);
    block += "}\n";
    if (block.size() < (1U << 16)) continue;
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
    block.clear();
  }
  out.write(block.data(), static_cast<std::streamsize>(block.size()));
}

}  // namespace holdfast::checker
