// The formats of history files: JSON lines, Jepsen's EDN and Jepsen's old text log. What each of them looks
// like and how they differ: checker/HISTORY.md. In Jepsen's formats the order of the lines is the order of
// the events.
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
// Guesses from the beginning of a file; a few hundred bytes are enough.
Format guess_format(std::string_view head);

struct FormatOptions {
  std::string file = "-";             // for errors
  std::optional<Format> format = {};  // absent: guessed
  bool keyed = false;                 // values are [key value], as Jepsen's independent keys are
  bool keep_going = false;            // skip and count what is broken
  Format* used = nullptr;             // receives the format that was given or guessed
  PackedHistory* into = nullptr;      // receives the events; the ReadHistory then has the strings alone
};

// Reads a stream to its end. Throws FormatError.
ReadHistory read_history(std::istream& in, const FormatOptions& options);

// Writes one map a line. `keyed`: values as [key value].
void write_edn(const ReadHistory& read, std::ostream& out, bool keyed);

// The readers behind read_history().
ReadHistory read_edn(std::istream& in, const FormatOptions& options);
ReadHistory read_jepsen_log(std::istream& in, const FormatOptions& options);

}  // namespace holdfast::checker
