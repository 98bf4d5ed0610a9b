// Reads Jepsen's EDN in one pass, without building a tree. Fields come in any order.
#include <array>
#include <charconv>
#include <istream>

#include "checker/history/edn_scanner.h"
#include "checker/history/event_appender.h"
#include "checker/history/formats.h"

namespace holdfast::checker {

namespace {

enum class Field : std::uint8_t {
  type,
  f,
  value,
  process,
  time,
  index,
  error,
  key,
  id,
  owner,
  mode,
  node,
  token,
  permits,
  valid_until,
  fence,
  unknown
};

Field field_of(std::string_view name) {
  constexpr std::array<std::string_view, 16> kNames = {
      "type", "f",     "value", "process", "time",  "index",   "error",       "key",
      "id",   "owner", "mode",  "node",    "token", "permits", "valid-until", "fence"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Field>(i);
  }
  return name == "valid_until" ? Field::valid_until : Field::unknown;
}

bool parse_function(std::string_view name, Function& f) {
  if (name == "lock") return f = Function::acquire, true;
  if (name == "unlock") return f = Function::release, true;
  return parse(name, f);
}

class EdnReader {
 public:
  EdnReader(std::istream& in, const FormatOptions& options)
      : scan_(in), options_(options), events_(result_, options.into) {}

  ReadHistory read() {
    try {
      scan_.skip_space();
      if (scan_.peek() == '[' || scan_.peek() == '(') {
        close_ = scan_.get() == '[' ? ']' : ')';
      }
    } catch (const EdnProblem& problem) {
      throw FormatError(options_.file, problem.line, problem.column, problem.problem);
    }
    while (next()) {
    }
    return std::move(result_);
  }

 private:
  bool next() {
    try {
      scan_.skip_space();
      const int c = scan_.peek();
      if (c == EdnScanner::kEnd) {
        if (close_ != 0) scan_.fail(close_ == ']' ? "`]`" : "`)`");
        return false;
      }
      if (close_ != 0 && c == close_) {
        scan_.get();
        close_ = 0;
        scan_.skip_space();
        if (scan_.peek() != EdnScanner::kEnd) scan_.fail("the end of the file");
        return false;
      }
      event();
    } catch (const EdnProblem& problem) {
      FormatError error(options_.file, problem.line, problem.column, problem.problem);
      if (!options_.keep_going) throw error;
      if (result_.skipped++ == 0) result_.first_skipped = error.what();
      if (scan_.peek() == EdnScanner::kEnd) return false;
      if (scan_.line() == problem.line) scan_.skip_line();
    }
    return true;
  }

  void event() {
    if (scan_.peek() == '#') {  // a tagged record
      scan_.token(scratch_);
      scan_.skip_space();
    }
    const std::uint64_t line = scan_.line(), column = scan_.column();
    if (scan_.peek() != '{') scan_.fail("a map `{...}`");
    scan_.get();
    event_ = Event{};
    first_ = second_ = kAbsent;
    pair_ = seen_type_ = seen_f_ = seen_process_ = seen_time_ = false;
    index_ = kAbsent;
    other_ = 0;
    for (scan_.skip_space(); scan_.peek() != '}'; scan_.skip_space()) field();
    scan_.get();
    if (!seen_type_ || !seen_f_ || !seen_process_) {
      throw EdnProblem{line, column,
                       std::string("the map has no ") +
                           (!seen_type_ ? ":type"
                            : !seen_f_  ? ":f"
                                        : ":process") +
                           ", expected :type, :f and :process"};
    }
    append();
  }

  void append() {
    if (options_.keyed && pair_) {
      event_.key = name_of_value(first_);
      // Of a nested pair [key [from to]], first_ has the key, and the inner pair has the rest.
      event_.value = second_;
      if (event_.f == Function::cas && inner_) event_.token = inner_first_, event_.value = inner_second_;
    } else if (pair_) {
      if (event_.f == Function::cas) event_.token = first_, event_.value = second_;
    } else {
      event_.value = first_;
    }
    if (event_.f == Function::other) event_.error = other_;
    events_.append(event_, seen_time_, index_);
  }

  Symbol name_of_value(std::int64_t value) {
    if (value == kAbsent) return 0;
    if (is_text_value(value)) return symbol_of_value(value);
    return number_name(value);
  }
  Symbol number_name(std::int64_t number) {
    if (number >= 0 && number < static_cast<std::int64_t>(names_.size())) {
      Symbol& name = names_[static_cast<std::size_t>(number)];
      if (name == 0) name = result_.history.intern(std::to_string(number));
      return name;
    }
    return result_.history.intern(std::to_string(number));
  }

  // A keyword without its colon, a string, a symbol.
  std::string_view word() {
    if (scan_.peek() == '"') {
      scan_.string(scratch_);
      return scratch_;
    }
    std::string_view token = scan_.token(scratch_);
    if (token.empty()) scan_.fail("a keyword");
    if (token.front() == ':') token.remove_prefix(1);
    return token;
  }

  // A scalar: a whole number as it is, nil as kAbsent, everything else as its text.
  std::int64_t scalar() {
    const int c = scan_.peek();
    if (c == '"') {
      scan_.string(scratch_);
      return text_value(result_.history.intern(scratch_));
    }
    if (c == '{' || c == '[' || c == '(' || c == '#') {
      scan_.skip_value();
      return kAbsent;
    }
    const std::string_view token = scan_.token(scratch_);
    if (token.empty()) scan_.fail("a value");
    if (token == "nil") return kAbsent;
    std::string_view digits = token;
    if (digits.front() == '+') digits.remove_prefix(1);
    if (digits.back() == 'N' || digits.back() == 'M') digits.remove_suffix(1);
    std::int64_t number = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end.ec == std::errc{} && end.ptr == digits.data() + digits.size()) return number;
    return text_value(result_.history.intern(token.front() == ':' ? token.substr(1) : token));
  }
  std::int64_t integer(std::string_view expected) {
    const std::uint64_t column = scan_.column();
    const std::int64_t number = scalar();
    if (is_text_value(number)) {
      scan_.fail_found(result_.history.text(symbol_of_value(number)), column, expected);
    }
    return number;
  }
  Symbol name() { return name_of_value(scalar()); }

  void value() {
    inner_ = false;
    if (scan_.peek() == '#') {  // #jepsen.independent.Tuple [k v]
      scan_.get();
      if (scan_.peek() == '{' || scan_.peek() == '"') return scan_.skip_value();
      scan_.token(scratch_);
      scan_.skip_space();
    }
    if (scan_.peek() == '{') {  // Jepsen's Hazelcast suite returns {:fence 7, ...}
      scan_.get();
      for (scan_.skip_space(); scan_.peek() != '}'; scan_.skip_space()) {
        const Field which = field_of(word());
        scan_.skip_space();
        if (which == Field::fence || which == Field::token) {
          event_.token = integer("a whole number");
        } else {
          scan_.skip_value();
        }
      }
      scan_.get();
      return;
    }
    if (scan_.peek() != '[' && scan_.peek() != '(') {
      first_ = scalar();
      return;
    }
    const int close = scan_.get() == '[' ? ']' : ')';
    int count = 0;
    for (scan_.skip_space(); scan_.peek() != close; scan_.skip_space()) {
      if (scan_.peek() == '[' && count == 1) {  // [key [from to]]
        scan_.get();
        int inner = 0;
        for (scan_.skip_space(); scan_.peek() != ']'; scan_.skip_space()) {
          const std::int64_t part = scalar();
          (inner == 0 ? inner_first_ : inner_second_) = part;
          ++inner;
        }
        scan_.get();
        inner_ = inner == 2;
      } else {
        const std::int64_t part = scalar();
        if (count == 0) first_ = part;
        if (count == 1) second_ = part;
      }
      ++count;
    }
    scan_.get();
    pair_ = count == 2;
  }

  void field() {
    if (scan_.peek() == EdnScanner::kEnd) scan_.fail("`}`");
    const Field which = field_of(word());
    scan_.skip_space();
    const std::uint64_t column = scan_.column();
    switch (which) {
      case Field::type: {
        const std::string_view type = word();
        if (!parse(type, event_.type)) scan_.fail_found(type, column, ":invoke, :ok, :fail or :info");
        seen_type_ = true;
        break;
      }
      case Field::f: {
        const std::string_view f = word();
        if (!parse_function(f, event_.f)) event_.f = Function::other, other_ = result_.history.intern(f);
        seen_f_ = true;
        break;
      }
      case Field::process:
        event_.process = name();
        seen_process_ = true;
        break;
      case Field::time:
        event_.time_ns = integer("nanoseconds as a whole number");
        seen_time_ = event_.time_ns != kAbsent;
        break;
      case Field::index: index_ = integer("a whole number"); break;
      case Field::value: value(); break;
      case Field::error: event_.error = name(); break;
      case Field::key: event_.key = name(); break;
      case Field::id: event_.id = name(); break;
      case Field::owner: event_.owner = name(); break;
      case Field::mode: event_.mode = name(); break;
      case Field::node: event_.node = name(); break;
      case Field::token:
      case Field::fence: event_.token = integer("a whole number"); break;
      case Field::valid_until: event_.valid_until_ns = integer("nanoseconds as a whole number"); break;
      case Field::permits: {
        const std::int64_t permits = integer("a count of permits");
        event_.permits =
            permits > 0 && permits <= std::int64_t{UINT32_MAX} ? static_cast<std::uint32_t>(permits) : 0;
        break;
      }
      case Field::unknown: scan_.skip_value(); break;
    }
  }

  EdnScanner scan_;
  const FormatOptions& options_;
  ReadHistory result_;
  EventAppender events_;
  std::string scratch_;
  std::array<Symbol, 4096> names_{};  // of small numbers
  int close_ = 0;                     // what closes the vector or list around all events; 0: nothing does
  Event event_;
  std::int64_t first_ = kAbsent, second_ = kAbsent, inner_first_ = kAbsent, inner_second_ = kAbsent;
  std::int64_t index_ = kAbsent;
  Symbol other_ = 0;
  bool pair_ = false, inner_ = false;
  bool seen_type_ = false, seen_f_ = false, seen_process_ = false, seen_time_ = false;
};

}  // namespace

ReadHistory read_edn(std::istream& in, const FormatOptions& options) { return EdnReader(in, options).read(); }

}  // namespace holdfast::checker
