// JSON lines: a history on disk, one event a line. The format, field by field, with examples:
// checker/HISTORY.md.
//
// Absent fields are left out. A byte that is no UTF-8 is written as an escaped lone surrogate (\udc80 to
// \udcff), so that every file is JSON and every history is read back as it was.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/format_error.h"
#include "checker/history/history.h"

namespace holdfast::checker {

// Appends the line of the event at `position`, with its newline. `index` is written as the event's index.
void append_jsonl(const History& history, std::size_t position, std::uint64_t index, std::string& out);

// Writes the whole history, in blocks of about 64 KiB. The index of an event is its position.
void write_jsonl(const History& history, std::ostream& out);
std::string to_jsonl(const History& history);

class PackedHistory;

struct ReadOptions {
  std::string file = "-";         // for errors
  bool keep_going = false;        // skip and count broken lines instead of throwing
  PackedHistory* into = nullptr;  // receives the events; the ReadHistory then has the strings alone
};

struct ReadHistory {
  History history;
  std::vector<std::uint64_t> index;  // by position, as the file says; empty: they are the positions
  std::uint64_t skipped = 0;         // broken lines (keep_going)
  std::string first_skipped;         // why the first of them was skipped
  std::uint64_t index_of(std::size_t position) const { return index.empty() ? position : index[position]; }
};

// Reads to the end. Holds one block and one line of text in memory, no more. Skips fields that it does not
// know, and empty lines. An event without `time` has its position as time. Throws FormatError.
ReadHistory read_jsonl(std::istream& in, const ReadOptions& options = {});
// Reads from memory, for tests and small files.
History from_jsonl(std::string_view text);

}  // namespace holdfast::checker
