// Reads JSON lines: one pass over each line, without building a tree.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <sstream>

#include "checker/history/event_appender.h"
#include "checker/history/history_jsonl.h"
#include "checker/history/line_reader.h"
#include "checker/history/plain_line.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

// A problem at a byte of a line. The caller knows file and line, and makes a FormatError of it.
struct Broken {
  std::size_t at;
  std::string problem;
};

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string result = "`";
  for (const char c : text.substr(0, kMost)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return result + (text.size() > kMost ? "…`" : "`");
}

class LineParser {
 public:
  LineParser(std::string_view line, History& history, std::string& scratch)
      : line_(line), history_(history), scratch_(scratch) {}

  // Throws Broken. `index`: kAbsent if the line names none.
  Event parse(std::int64_t& index) {
    index = kAbsent;
    skip_space();
    if (!take('{')) broken("an object `{...}`");
    skip_space();
    if (!take('}')) {
      do {
        field(index);
        skip_space();
      } while (take(','));
      if (!take('}')) broken("`,` or `}`");
    }
    skip_space();
    if (at_ != line_.size()) broken("the end of the line: one event a line");
    if (seen_header_) return event_;
    if (!seen_type_) throw Broken{line_.size() - 1, "no field `type`, expected invoke, ok, fail or info"};
    if (!seen_f_) throw Broken{line_.size() - 1, "no field `f`, expected acquire, release, ..."};
    if (!seen_process_) throw Broken{line_.size() - 1, "no field `process`, expected a name or a number"};
    if (event_.f == Function::other) event_.error = other_;
    normalise_token(event_, history_);
    return event_;
  }
  bool has_time() const { return seen_time_; }
  bool is_header() const { return seen_header_; }

 private:
  [[noreturn]] void broken_at(std::size_t at, std::string_view expected) const {
    std::size_t end = at;
    while (end < line_.size() && line_[end] != ',' && line_[end] != '}' && line_[end] != ' ' && end < at + 41)
      ++end;
    if (end == at && end < line_.size()) ++end;
    const std::string found =
        at >= line_.size() ? "the line ends here" : "found " + shown(line_.substr(at, end - at));
    throw Broken{at, found + ", expected " + std::string(expected)};
  }
  [[noreturn]] void broken(std::string_view expected) const { broken_at(at_, expected); }

  void skip_space() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
  }
  bool take(char c) { return at_ < line_.size() && line_[at_] == c ? (++at_, true) : false; }
  bool take(std::string_view word) {
    if (line_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  unsigned hex4() {
    unsigned code = 0;
    const auto end = std::min(at_ + 4, line_.size());
    const auto result = std::from_chars(line_.data() + at_, line_.data() + end, code, 16);
    if (end - at_ < 4 || result.ptr != line_.data() + end) broken("four hexadecimal digits");
    at_ = end;
    return code;
  }
  void append_code(unsigned code) {
    if (code < 0x80) {
      scratch_ += static_cast<char>(code);
    } else if (code < 0x800) {
      scratch_ += static_cast<char>(0xC0U | (code >> 6));
      scratch_ += static_cast<char>(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
      scratch_ += static_cast<char>(0xE0U | (code >> 12));
      scratch_ += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
      scratch_ += static_cast<char>(0x80U | (code & 0x3FU));
    } else {
      scratch_ += static_cast<char>(0xF0U | (code >> 18));
      scratch_ += static_cast<char>(0x80U | ((code >> 12) & 0x3FU));
      scratch_ += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
      scratch_ += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  void escape() {
    if (at_ >= line_.size()) broken("an escape");
    const char c = line_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/': scratch_ += c; return;
      case 'b': scratch_ += '\b'; return;
      case 'f': scratch_ += '\f'; return;
      case 'n': scratch_ += '\n'; return;
      case 'r': scratch_ += '\r'; return;
      case 't': scratch_ += '\t'; return;
      case 'u': break;
      default: broken_at(at_ - 1, "an escape of JSON");
    }
    unsigned code = hex4();
    if (code >= 0xD800 && code < 0xDC00 && line_.substr(at_, 2) == "\\u") {
      const std::size_t before = at_;
      at_ += 2;
      const unsigned low = hex4();
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = before;
      }
    } else if (code >= 0xDC80 && code < 0xDD00) {  // the escape of a byte that is no UTF-8
      scratch_ += static_cast<char>(code & 0xFFU);
      return;
    }
    if (!HOLDFAST_PLANTED(escape_is_dropped)) append_code(code);
  }
  // A string. The view is valid until the next string is read.
  std::string_view string() {
    if (!take('"')) broken("a string in `\"`");
    const std::size_t begin = at_;
    while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\') ++at_;
    if (at_ < line_.size() && line_[at_] == '"') return line_.substr(begin, at_++ - begin);
    scratch_.assign(line_.substr(begin, at_ - begin));
    while (at_ < line_.size()) {
      const char c = line_[at_++];
      if (c == '"') return scratch_;
      if (c == '\\') {
        escape();
      } else {
        scratch_ += c;
      }
    }
    broken("the closing `\"`");
  }
  std::int64_t integer(std::string_view expected) {
    if (take("null")) return kAbsent;
    const std::size_t begin = at_;
    std::int64_t number = 0;
    const auto result = std::from_chars(line_.data() + at_, line_.data() + line_.size(), number);
    at_ = static_cast<std::size_t>(result.ptr - line_.data());
    const bool more = at_ < line_.size() && (line_[at_] == '.' || line_[at_] == 'e' || line_[at_] == 'E');
    if (result.ec != std::errc{} || more) broken_at(begin, expected);
    return number;
  }
  std::int64_t time(std::string_view expected) {
    const std::size_t begin = at_;
    const std::int64_t number = integer(expected);
    if (number != kAbsent && (number <= -kMostTime || number >= kMostTime)) {
      broken_at(begin, "nanoseconds between -2^62 and 2^62");
    }
    return number;
  }
  // The characters of a number, as JSON has it.
  std::string_view number_token(std::string_view expected) {
    const std::size_t begin = at_;
    const auto digits = [this] {
      const std::size_t first = at_;
      while (at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9') ++at_;
      return at_ > first;
    };
    take('-');
    bool good = digits();
    if (good && take('.')) good = digits();
    if (good && (take('e') || take('E'))) {
      if (!take('+')) take('-');
      good = digits();
    }
    if (!good) broken_at(begin, expected);
    return line_.substr(begin, at_ - begin);
  }
  Value value() {
    if (at_ >= line_.size()) broken("a value");
    const char c = line_[at_];
    if (c == '"') return history_.text_value(string());
    if (take("null")) return {};
    if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t begin = at_;
      std::int64_t small = 0;  // the common case
      const auto end = std::from_chars(line_.data() + at_, line_.data() + line_.size(), small);
      const char next = end.ptr == line_.data() + line_.size() ? ',' : *end.ptr;
      if (end.ec == std::errc{} && (next == ',' || next == '}') && Value::fits(small)) {
        at_ = static_cast<std::size_t>(end.ptr - line_.data());
        return Value(small);
      }
      at_ = begin;
    }
    std::string text;
    canonical(text, 0);
    if (is_whole_number(text, digits_)) return history_.number(digits_);
    return history_.structure(text);
  }
  // Appends the value in one form: no blanks, the members of an object by name.
  void canonical(std::string& out, int depth) {
    if (depth > 64) broken("less depth");
    skip_space();
    if (at_ >= line_.size()) broken("a value");
    const char c = line_[at_];
    if (c == '"') return append_json_text(string(), out);
    if (c == '[') {
      ++at_;
      out += '[';
      skip_space();
      if (!take(']')) {
        for (bool first = true; first || take(','); first = false) {
          if (!first) out += ',';
          canonical(out, depth + 1);
          skip_space();
        }
        if (!take(']')) broken("`,` or `]`");
      }
      out += ']';
      return;
    }
    if (c == '{') {
      ++at_;
      std::map<std::string, std::string> members;
      skip_space();
      if (!take('}')) {
        do {
          skip_space();
          std::string name, value;
          append_json_text(string(), name);
          skip_space();
          if (!take(':')) broken("`:`");
          canonical(value, depth + 1);
          members[name] = value;
          skip_space();
        } while (take(','));
        if (!take('}')) broken("`,` or `}`");
      }
      out += '{';
      for (const auto& [name, value] : members) {
        if (out.back() != '{') out += ',';
        out += name + ':' + value;
      }
      out += '}';
      return;
    }
    for (const std::string_view word : {"true", "false", "null"}) {
      if (take(word)) return void(out += word);
    }
    const std::string_view token = number_token("a value of JSON");
    // 5.0 and 5 are one number, as in JSON.
    double number = 0;
    std::from_chars(token.data(), token.data() + token.size(), number);
    if (token.find_first_of(".eE") == std::string_view::npos) {
      std::string digits;
      is_whole_number(token, digits);
      out += digits;
    } else if (number == std::floor(number) && std::abs(number) < 9e15) {
      out += std::to_string(static_cast<std::int64_t>(number));
    } else {
      std::array<char, 32> shortest;
      out.append(shortest.data(),
                 std::to_chars(shortest.data(), shortest.data() + shortest.size(), number).ptr);
    }
  }
  Symbol text() {  // a string, a number or null
    if (at_ < line_.size() && line_[at_] == '"') return history_.intern(string());
    if (take("null")) return HOLDFAST_PLANTED(null_is_a_name) ? history_.intern("null") : 0;
    const std::size_t begin = at_;
    const std::string_view token = number_token("a string, a whole number or null");
    if (!is_whole_number(token, digits_)) broken_at(begin, "a string, a whole number or null");
    return history_.intern(digits_);
  }
  void skip_value(int depth = 0) {
    if (depth > 64) broken("less depth");
    skip_space();
    if (at_ >= line_.size()) broken("a value");
    const char c = line_[at_];
    if (c == '"') {
      string();
    } else if (c == '{' || c == '[') {
      const char close = c == '{' ? '}' : ']';
      ++at_;
      skip_space();
      if (take(close)) return;
      do {
        skip_space();
        if (c == '{') {
          string();
          skip_space();
          if (!take(':')) broken("`:`");
        }
        skip_value(depth + 1);
        skip_space();
      } while (take(','));
      if (!take(close)) broken(c == '{' ? "`,` or `}`" : "`,` or `]`");
    } else if (!take("true") && !take("false") && !take("null")) {
      number_token("a value of JSON");
    }
  }

  void field(std::int64_t& index) {
    skip_space();
    const std::string_view name = string();
    const Name which = name_of(name);
    skip_space();
    if (!take(':')) broken("`:`");
    skip_space();
    const std::size_t begin = at_;
    if (seen_header_) return skip_value();  // its members mean something else
    switch (which) {
      case Name::index: index = integer("a whole number"); break;
      case Name::time:
        event_.time_ns = time("nanoseconds as a whole number");
        seen_time_ = event_.time_ns != kAbsent;
        break;
      case Name::process:
        event_.process = text();
        if (event_.process == 0) broken_at(begin, "the name or number of a process");
        seen_process_ = true;
        break;
      case Name::type:
        if (!checker::parse(string(), event_.type)) broken_at(begin, "invoke, ok, fail or info");
        seen_type_ = true;
        break;
      case Name::f: {
        const std::string_view f = string();
        if (!checker::parse(f, event_.f)) event_.f = Function::other, other_ = history_.intern(f);
        seen_f_ = true;
        break;
      }
      case Name::key: event_.key = text(); break;
      case Name::id: event_.id = text(); break;
      case Name::owner: event_.owner = text(); break;
      case Name::mode: event_.mode = text(); break;
      case Name::node: event_.node = text(); break;
      case Name::error: event_.error = text(); break;
      case Name::value: event_.value = value(); break;
      case Name::token: event_.token = value(); break;
      case Name::valid_until:
        event_.valid_until_ns = integer("nanoseconds as a whole number");
        if (HOLDFAST_PLANTED(valid_until_in_milliseconds) && event_.valid_until_ns > 0)
          event_.valid_until_ns *= 1'000'000;
        if (event_.valid_until_ns >= kMostTime) event_.valid_until_ns = kMostTime;  // for ever
        break;
      case Name::permits: {
        const std::int64_t permits = integer("a count of permits");
        if (permits != kAbsent && (permits < 1 || permits > std::int64_t{UINT32_MAX})) {
          broken_at(begin, "a count of permits from 1 to 4294967295");
        }
        event_.permits = permits == kAbsent || HOLDFAST_PLANTED(jsonl_permits_ignored)
                             ? 0
                             : static_cast<std::uint32_t>(permits);
        break;
      }
      case Name::header:
        seen_header_ = true;
        skip_value();
        break;
      case Name::unknown: skip_value(); break;
    }
  }

  enum class Name {
    index,
    time,
    process,
    type,
    f,
    key,
    id,
    owner,
    mode,
    permits,
    value,
    token,
    valid_until,
    node,
    error,
    header,
    unknown
  };
  static Name name_of(std::string_view name) {
    constexpr std::array<std::string_view, 16> kNames = {
        "index", "time",    "process", "type",  "f",           "key",  "id",    "owner",
        "mode",  "permits", "value",   "token", "valid_until", "node", "error", kHeaderMember};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] == name) return static_cast<Name>(i);
    }
    return Name::unknown;
  }

  std::string_view line_;
  History& history_;
  std::string& scratch_;
  std::string digits_;
  std::size_t at_ = 0;
  Event event_;
  Symbol other_ = 0;
  bool seen_type_ = false, seen_f_ = false, seen_process_ = false, seen_time_ = false, seen_header_ = false;
};

// Says what the file is, where a line is broken because the file is something else.
std::string explained(std::string_view line, std::size_t begin, const Broken& problem, LineEnd end,
                      bool first) {
  if (first && line[begin] == '[') {
    return "found an array of JSON, expected one event a line; `jq -c '.[]' FILE` makes such a file";
  }
  if (first && line.substr(begin) == "{" && end == LineEnd::newline) {
    return "found an event on several lines, expected one event a line; `jq -c . FILE` makes such a file";
  }
  if (!first && end == LineEnd::missing && problem.at >= line.size()) {
    return problem.problem + "; the file is cut off here, and --keep-going judges what is there";
  }
  return problem.problem;
}

}  // namespace

ReadHistory read_jsonl(std::istream& in, const ReadOptions& options) {
  ReadHistory result;
  EventAppender events(result, options.into);
  LineReader lines(in, options.file);
  std::string_view line;
  std::string scratch;
  std::uint64_t last_broken = 0;
  const auto broken = [&](std::size_t column, const std::string& problem) {
    FormatError error(options.file, lines.number(), column, problem);
    if (!options.keep_going) throw error;
    if (result.skipped++ == 0) result.first_skipped = error.what();
    last_broken = lines.number();
  };
  while (lines.next(line)) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    try {
      PlainLine plain;
      if (read_plain_line(line, result.history, plain) &&
          (events.size() == 0 || plain.has_time == events.any_time())) {
        events.append(plain.event, plain.has_time, plain.index, {lines.number(), begin + 1});
        continue;
      }
      LineParser parser(line, result.history, scratch);
      std::int64_t index = kAbsent;
      Event event = parser.parse(index);
      if (parser.is_header()) {
        if (events.size() > 0 || !result.header.empty()) {
          throw Broken{begin,
                       "found the header of a run, expected it on the first line only: one run a file"};
        }
        result.header = line.substr(begin);
        result.header_place = {lines.number(), begin + 1};
        continue;
      }
      if (events.size() > 0 && parser.has_time() != events.any_time()) {
        throw Broken{begin, parser.has_time()
                                ? "a field `time`, which the events before it lack, expected it in "
                                  "all events or in none"
                                : "no field `time`, which the events before it have, expected it "
                                  "in all events or in none"};
      }
      events.append(event, parser.has_time(), index, {lines.number(), begin + 1});
    } catch (const Broken& problem) {
      broken(problem.at + 1, explained(line, begin, problem, lines.ended(), events.size() == 0));
    }
  }
  result.cut_off = result.skipped == 1 && last_broken == lines.number() && lines.ended() == LineEnd::missing;
  return result;
}

History from_jsonl(std::string_view text) {
  std::istringstream in{std::string(text)};
  ReadHistory read = read_jsonl(in);
  return std::move(read.history);
}

}  // namespace holdfast::checker
