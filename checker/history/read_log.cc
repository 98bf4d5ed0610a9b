// Reads Jepsen's old text log: `INFO  jepsen.util - 3<TAB>:invoke<TAB>:cas<TAB>[1 4]`, with tabs or blanks
// between the fields. Lines of other kinds are passed over; one of this kind that is not whole is an error.
#include <array>
#include <istream>
#include <optional>

#include "checker/history/edn_scanner.h"
#include "checker/history/edn_value.h"
#include "checker/history/event_appender.h"
#include "checker/history/formats.h"
#include "checker/history/line_reader.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr std::string_view kBlanks = " \t";

// Where the operation begins in a line.
struct LogLine {
  std::size_t process = 0, type = 0, f = 0;  // positions of the words; f: npos: the line ends before it
};

std::string_view word_at(std::string_view line, std::size_t at) {
  return line.substr(at, line.find_first_of(kBlanks, at) - at);
}
std::size_t next_word(std::string_view line, std::size_t at) {
  const std::size_t end = line.find_first_of(HOLDFAST_PLANTED(log_wants_tabs) ? "\t" : kBlanks, at);
  return end == std::string_view::npos ? end : line.find_first_not_of(kBlanks, end);
}

bool names_process(std::string_view word) {
  return word == ":nemesis" ||
         (!word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos);
}

// A process, a keyword, and a keyword or the end of the line. nullopt: the line is of another kind.
std::optional<LogLine> find_operation(std::string_view line) {
  // The common case: the operation stands behind the logger's dash.
  std::size_t at = line.find(" - ");
  at = at == std::string_view::npos ? line.find_first_not_of(kBlanks)
                                    : line.find_first_not_of(kBlanks, at + 3);
  for (; at != std::string_view::npos; at = next_word(line, at)) {
    if (!names_process(word_at(line, at))) continue;
    const std::size_t type = next_word(line, at);
    if (type == std::string_view::npos || line[type] != ':') continue;
    const std::size_t f = next_word(line, type);
    EventType ignored;
    if (f == std::string_view::npos ? parse(word_at(line, type).substr(1), ignored) : line[f] == ':') {
      return LogLine{at, type, f};
    }
  }
  return std::nullopt;
}

std::string_view bare(std::string_view word) { return word.starts_with(':') ? word.substr(1) : word; }

class LogReader {
 public:
  LogReader(std::istream& in, const FormatOptions& options)
      : lines_(in, options.file), options_(options), events_(result_, options.into) {
    result_.history.set_jepsen();
  }

  ReadHistory read() {
    for (std::string_view line; lines_.next(line);) {
      const std::optional<LogLine> found = find_operation(line);
      if (!found) {
        if (events_.size() == 0 && lines_.number() > 1000) {
          throw FormatError(options_.file, lines_.number(), 1,
                            "no line of Jepsen's log so far, " + expected());
        }
        continue;
      }
      try {
        take(line, *found);
      } catch (const EdnProblem& problem) {
        FormatError error(options_.file, lines_.number(), problem.column, problem.problem);
        if (!options_.keep_going) throw error;
        if (result_.skipped++ == 0) result_.first_skipped = error.what();
        broken_ = lines_.number();
      }
    }
    if (events_.size() == 0) throw FormatError(options_.file, 1, 1, "no line of Jepsen's log, " + expected());
    result_.cut_off = result_.skipped == 1 && broken_ == lines_.number();
    return std::move(result_);
  }

 private:
  static std::string expected() { return "expected `3<TAB>:invoke<TAB>:read<TAB>nil`"; }
  [[noreturn]] void fail(std::size_t at, const std::string& problem) const {
    throw EdnProblem{lines_.number(), at + 1, problem};
  }

  void take(std::string_view line, const LogLine& found) {
    History& history = result_.history;
    Event event;
    event.process = history.intern(bare(word_at(line, found.process)));
    const std::string_view type = word_at(line, found.type);
    if (!parse(bare(type), event.type)) {
      fail(found.type,
           "found `" + std::string(type.substr(0, 40)) + "`, expected :invoke, :ok, :fail or :info");
    }
    if (found.f == std::string_view::npos)
      fail(line.size(), "the line ends here, expected a function as :read");
    const std::string_view f = bare(word_at(line, found.f));
    if (!parse(f, event.f)) {
      event.f = Function::other;
      event.error = history.intern(f);
    }
    const std::size_t rest = std::min(found.f + 1 + f.size(), line.size());
    EdnScanner scan(line.substr(rest), lines_.number(), rest + 1);
    scan.skip_space();
    if (scan.peek() != EdnScanner::kEnd) {
      // Of an operation that did not succeed, a keyword in place of the value is the reason.
      const bool reason =
          (event.type == EventType::fail || event.type == EventType::info) && scan.peek() == ':';
      if (reason) {
        event.error = name_of(read_edn_datum(scan, history), history);
        if (event.f == Function::other) event.error = history.intern(f);
      } else {
        const std::size_t column = scan.column();
        value_.read(scan, history);
        const std::string problem = value_.apply(options_.keyed, event, history);
        if (!problem.empty()) fail(column - 1, problem);
        scan.skip_space();
        if (scan.peek() != EdnScanner::kEnd && event.f != Function::other) {
          event.error = name_of(read_edn_datum(scan, history), history);
        }
      }
    }
    normalise_token(event, history);
    events_.append(event, false, kAbsent, {lines_.number(), found.process + 1});
  }

  LineReader lines_;
  const FormatOptions& options_;
  ReadHistory result_;
  EventAppender events_;
  EdnValue value_;
  std::uint64_t broken_ = 0;
};

}  // namespace

ReadHistory read_jepsen_log(std::istream& in, const FormatOptions& options) {
  return LogReader(in, options).read();
}

}  // namespace holdfast::checker
