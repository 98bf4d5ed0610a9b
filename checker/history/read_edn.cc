// Reads Jepsen's EDN in one pass, without building a tree. Fields come in any order.
#include <array>
#include <istream>

#include "checker/history/edn_scanner.h"
#include "checker/history/edn_value.h"
#include "checker/history/event_appender.h"
#include "checker/history/formats.h"
#include "checker/planted.h"

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
    if (kNames[i] == name && !(i == 15 && HOLDFAST_PLANTED(fence_ignored))) return static_cast<Field>(i);
  }
  if (name == "fence" && HOLDFAST_PLANTED(fence_ignored)) return Field::unknown;
  return name == "valid_until" && !HOLDFAST_PLANTED(valid_until_with_a_dash_alone) ? Field::valid_until
                                                                                   : Field::unknown;
}

class EdnReader {
 public:
  EdnReader(std::istream& in, const FormatOptions& options)
      : scan_(in), options_(options), events_(result_, options.into) {
    result_.history.set_jepsen();
  }

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
      if (!options_.keep_going || problem.hopeless) throw error;
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
    value_.clear();
    seen_type_ = seen_f_ = seen_process_ = seen_time_ = false;
    index_ = kAbsent;
    other_ = 0;
    for (scan_.skip_space(); scan_.peek() != '}'; scan_.skip_space()) {
      if (!scan_.skip_discarded()) field();
    }
    scan_.get();
    if (!seen_type_ || !seen_f_ || !seen_process_) {
      throw EdnProblem{line, column,
                       std::string("the map has no ") +
                           (!seen_type_ ? ":type"
                            : !seen_f_  ? ":f"
                                        : ":process") +
                           ", expected :type, :f and :process"};
    }
    if (event_.f == Function::other) event_.error = other_;
    const std::string problem = value_.apply(options_.keyed, event_, result_.history);
    if (!problem.empty()) throw EdnProblem{value_line_, value_column_, problem};
    normalise_token(event_, result_.history);
    events_.append(event_, seen_time_, index_, {line, column});
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

  std::int64_t integer(std::string_view expected) {
    const std::uint64_t column = scan_.column();
    const Value number = read_edn_datum(scan_, result_.history);
    if (number.empty()) return kAbsent;
    if (!number.is_number()) scan_.fail_found(result_.history.shown(number), column, expected);
    return number.number();
  }
  Symbol name() { return name_of(read_edn_datum(scan_, result_.history), result_.history); }
  // Small numbers are the names of most processes.
  Symbol process_name() {
    const Value value = read_edn_datum(scan_, result_.history);
    const std::int64_t number = value.number_or(-1);
    if (number < 0 || number >= static_cast<std::int64_t>(names_.size())) {
      return name_of(value, result_.history);
    }
    Symbol& known = names_[static_cast<std::size_t>(number)];
    if (known == 0) known = name_of(value, result_.history);
    return known;
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
        if (!parse(f, event_.f)) event_.f = Function::other, other_ = result_.history.intern(f);
        seen_f_ = true;
        break;
      }
      case Field::process:
        event_.process = process_name();
        if (event_.process == 0) scan_.fail_found("nil", column, "the name or number of a process");
        seen_process_ = true;
        break;
      case Field::time:
        event_.time_ns = integer("nanoseconds as a whole number");
        seen_time_ = !HOLDFAST_PLANTED(edn_times_ignored) && event_.time_ns != kAbsent;
        break;
      case Field::index: index_ = integer("a whole number"); break;
      case Field::value:
        value_line_ = scan_.line();
        value_column_ = column;
        value_.read(scan_, result_.history);
        break;
      case Field::error: event_.error = name(); break;
      case Field::key: event_.key = name(); break;
      case Field::id: event_.id = name(); break;
      case Field::owner: event_.owner = name(); break;
      case Field::mode: event_.mode = name(); break;
      case Field::node: event_.node = name(); break;
      case Field::token:
      case Field::fence: event_.token = read_edn_datum(scan_, result_.history); break;
      case Field::valid_until: event_.valid_until_ns = integer("nanoseconds as a whole number"); break;
      case Field::permits: {
        const std::int64_t permits = integer("a count of permits");
        if (permits != kAbsent && (permits < 1 || permits > std::int64_t{UINT32_MAX})) {
          scan_.fail_found(std::to_string(permits), column, "a count of permits from 1 to 4294967295");
        }
        event_.permits = permits == kAbsent ? 0 : static_cast<std::uint32_t>(permits);
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
  EdnValue value_;
  std::uint64_t value_line_ = 0, value_column_ = 0;
  std::int64_t index_ = kAbsent;
  Symbol other_ = 0;
  bool seen_type_ = false, seen_f_ = false, seen_process_ = false, seen_time_ = false;
};

}  // namespace

ReadHistory read_edn(std::istream& in, const FormatOptions& options) { return EdnReader(in, options).read(); }

}  // namespace holdfast::checker
