// Formats: histories from anywhere into a History, and back out for other checkers.
//
// jsonl        ours (history_jsonl.h)
// jepsen-edn   a vector or a list of maps, or one map after another; keys as keywords or strings in any
//              order, comments, tagged records, numbers or names for processes
// jepsen-log   the old text log of Jepsen: `INFO  jepsen.util - 3<TAB>:invoke<TAB>:cas<TAB>[1 4]`
//
// In the two Jepsen formats the order of the lines is the order of the events.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "checker/history/history_jsonl.h"

namespace holdfast::checker {

enum class Format : std::uint8_t { jsonl, jepsen_edn, jepsen_log };

std::string_view to_string(Format format);
std::optional<Format> parse_format(std::string_view name);
// From the beginning of a file (some hundred bytes are enough).
Format guess_format(std::string_view head);

struct FormatOptions {
  std::string file = "-";             // for errors
  std::optional<Format> format = {};  // absent: guessed
  bool keyed = false;                 // values are [key value] (jepsen-independent)
  bool keep_going = false;            // skip and count what is broken
  Format* used = nullptr;             // told: the format that was given or guessed
  PackedHistory* into = nullptr;      // gets the events; the ReadHistory's own history then has none
};

// Reads to the end as a stream. Throws FormatError.
ReadHistory read_history(std::istream& in, const FormatOptions& options);

// One map a line. `keyed`: values as [key value].
void write_edn(const ReadHistory& read, std::ostream& out, bool keyed);

// The parts behind read_history().
ReadHistory read_edn(std::istream& in, const FormatOptions& options);
ReadHistory read_jepsen_log(std::istream& in, const FormatOptions& options);

}  // namespace holdfast::checker
