// JSON lines: a history on disk, one event a line, Jepsen's names of fields.
//
//   {"index":12,"time":3001250000,"process":"c1/0","type":"ok","f":"acquire","key":"stock:42","id":"c1-7",
//    "owner":"c1:0","token":17,"valid_until":7950000000,"node":"r1"}
//
// Absent fields are left out. Text that is not UTF-8 is written as escaped lone surrogates (\udc80 to \udcff,
// one a byte), so that every file is JSON and every history comes back as it was.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/format_error.h"
#include "checker/history/history.h"

namespace holdfast::checker {

// Appends the line of the event at `position`, its newline included. `index`: written as the event's index.
void append_jsonl(const History& history, std::size_t position, std::uint64_t index, std::string& out);

// The whole history; `out` gets blocks of some 64 KiB. The index of an event is its position.
void write_jsonl(const History& history, std::ostream& out);
std::string to_jsonl(const History& history);

class PackedHistory;

struct ReadOptions {
  std::string file = "-";         // for errors
  bool keep_going = false;        // skip (and count) broken lines instead of throwing
  PackedHistory* into = nullptr;  // gets the events; the ReadHistory's own history then has none
};

struct ReadHistory {
  History history;
  std::vector<std::uint64_t> index;  // by position: as the file says; empty: they are the positions
  std::uint64_t skipped = 0;         // broken lines (keep_going)
  std::string first_skipped;         // why the first of them was skipped
  std::uint64_t index_of(std::size_t position) const { return index.empty() ? position : index[position]; }
};

// Reads to the end in blocks: at no time is more than a block and one line of text in memory. Fields that it
// does not know are passed over; empty lines too. Where `time` is missing, the position counts. Throws
// FormatError.
ReadHistory read_jsonl(std::istream& in, const ReadOptions& options = {});
// From memory, for tests and small files.
History from_jsonl(std::string_view text);

}  // namespace holdfast::checker
