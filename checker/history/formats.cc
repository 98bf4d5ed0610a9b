// Guesses a format, reads the old text log, writes EDN.
#include "checker/history/formats.h"

#include <charconv>
#include <istream>
#include <ostream>
#include <sstream>
#include <streambuf>

#include "checker/history/line_reader.h"
#include "checker/history/packed_history.h"

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
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    const std::size_t begin = line.find_first_not_of(" \t\r,");
    if (begin == std::string_view::npos || line[begin] == ';') continue;
    line.remove_prefix(begin);
    if (line.front() == '[' || line.front() == '(' || line.front() == '#') return Format::jepsen_edn;
    if (line.front() != '{') return Format::jepsen_log;
    // {"type": "ok"} is JSON, {"type" "ok"} and {:type :ok} are EDN.
    const std::size_t next = line.find_first_not_of(" \t,", 1);
    if (next == std::string_view::npos) continue;
    if (line[next] == '}') return Format::jsonl;
    if (line[next] != '"') return Format::jepsen_edn;
    const std::size_t close = line.find('"', next + 1);
    const std::size_t after =
        close == std::string_view::npos ? close : line.find_first_not_of(" \t", close + 1);
    if (after == std::string_view::npos || line[after] != ':') return Format::jepsen_edn;
    const char value = after + 1 < line.size() ? line[after + 1] : ' ';
    const bool keyword =
        after > close + 1 && ((value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z'));
    return keyword ? Format::jepsen_edn : Format::jsonl;
  }
  return Format::jsonl;
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
  const Format format = options.format ? *options.format : guess_format(head);
  if (options.used != nullptr) *options.used = format;
  Rejoined whole(std::move(head), in);
  std::istream all(&whole);
  switch (format) {
    case Format::jsonl: break;
    case Format::jepsen_edn: return read_edn(all, options);
    case Format::jepsen_log: {
      ReadHistory read = read_jepsen_log(all, options);
      if (options.into != nullptr) {  // these files are small
        *options.into = PackedHistory::pack(read.history);
        read.history = options.into->names();
      }
      return read;
    }
  }
  return read_jsonl(all, {.file = options.file, .keep_going = options.keep_going, .into = options.into});
}

namespace {

struct LogProblem {
  std::size_t at;
  std::string problem;
};

// Reads `3<TAB>:invoke<TAB>:cas<TAB>[1 4]` after the logger's prefix. False: a line of another kind.
bool read_log_line(std::string_view line, bool keyed, ReadHistory& result) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return false;
  std::size_t begin = line.find_last_of(' ', tab);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::vector<std::pair<std::string_view, std::size_t>> fields;
  for (std::size_t at = begin; at <= line.size() && fields.size() < 5;) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    fields.emplace_back(line.substr(at, end - at), at);
    at = end + 1;
  }
  if (fields.size() < 3 || fields[1].first.empty() || fields[1].first.front() != ':') return false;
  const auto bare = [](std::string_view word) {
    return !word.empty() && word[0] == ':' ? word.substr(1) : word;
  };
  Event event;
  History& history = result.history;
  event.process = history.intern(bare(fields[0].first));
  if (!parse(bare(fields[1].first), event.type)) {
    throw LogProblem{fields[1].second,
                     "found `" + std::string(fields[1].first) + "`, expected :invoke, :ok, :fail or :info"};
  }
  if (!parse(bare(fields[2].first), event.f)) {
    event.f = Function::other;
    event.error = history.intern(bare(fields[2].first));
  }
  if (fields.size() > 3) {
    std::string map = "{:type :ok :f :cas :process 0 :value " + std::string(fields[3].first) + "}";
    if (event.f != Function::cas)
      map = "{:type :ok :f :write :process 0 :value " + std::string(fields[3].first) + "}";
    std::istringstream text(map);
    FormatOptions inner;
    inner.keyed = keyed;
    try {
      const ReadHistory value = read_edn(text, inner);
      Event read = value.history.events().at(0);
      for (std::int64_t* each : {&read.value, &read.token}) {
        if (is_text_value(*each))
          *each = text_value(history.intern(value.history.text(symbol_of_value(*each))));
      }
      event.key = history.intern(value.history.text(read.key));
      const bool reason = event.type == EventType::fail || event.type == EventType::info;
      if (reason && is_text_value(read.value)) {
        event.error = history.intern(value.history.text(
            value.history.events()[0].value == kAbsent ? 0
                                                       : symbol_of_value(value.history.events()[0].value)));
      } else {
        event.value = read.value;
        event.token = read.token;
      }
    } catch (const FormatError&) {
      throw LogProblem{fields[3].second,
                       "found `" + std::string(fields[3].first) + "`, expected a value of EDN"};
    }
  }
  if (fields.size() > 4 && event.f != Function::other) event.error = history.intern(bare(fields[4].first));
  event.time_ns = static_cast<std::int64_t>(history.events().size());
  history.append(event);
  return true;
}

void append_edn_value(const History& history, std::int64_t value, std::string& out) {
  if (value == kAbsent) {
    out += "nil";
  } else if (is_text_value(value)) {
    out += '"';
    for (const char c : history.text(symbol_of_value(value))) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  } else {
    out += std::to_string(value);
  }
}

bool is_number(std::string_view text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() && std::to_string(number) == text;
}

}  // namespace

ReadHistory read_jepsen_log(std::istream& in, const FormatOptions& options) {
  ReadHistory result;
  LineReader lines(in);
  std::string_view line;
  while (lines.next(line)) {
    try {
      if (!read_log_line(line, options.keyed, result) &&
          line.find_first_not_of(" \t") != std::string_view::npos && result.history.events().empty() &&
          lines.number() > 1000) {
        throw LogProblem{0, "no line of Jepsen's log so far, expected `3<TAB>:invoke<TAB>:read<TAB>nil`"};
      }
    } catch (const LogProblem& problem) {
      FormatError error(options.file, lines.number(), problem.at + 1, problem.problem);
      if (!options.keep_going) throw error;
      if (result.skipped++ == 0) result.first_skipped = error.what();
    }
  }
  if (result.history.events().empty()) {
    throw FormatError(options.file, 1, 1,
                      "no line of Jepsen's log, expected `3<TAB>:invoke<TAB>:read<TAB>nil`");
  }
  return result;
}

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
      append_edn_value(history, text_value(symbol), block);
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
    if (event.token != kAbsent && event.f != Function::cas)
      block += ", :token " + std::to_string(event.token);
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
