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

// The member that makes the first line of a file its header.
inline constexpr std::string_view kHeaderMember = "holdfast-run";

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

// Where an event stands in its file; both count from 1, columns in bytes.
struct Place {
  std::uint64_t line = 0, column = 0;
};

// The places of the events of a file, in little memory where each event has a line of its own.
class Places {
 public:
  void add(Place place);
  Place of(std::size_t position) const;  // O(log n)

 private:
  struct Run {
    std::size_t position = 0;
    Place first;  // the next one is a line further, in the same column
  };
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

// Events of a function that has no name here, of another process than the nemesis.
struct NotUnderstood {
  std::string f;
  std::size_t first = 0;  // position in the file
  std::uint64_t count = 0;
};

struct ReadHistory {
  History history;
  std::vector<std::uint64_t> index;  // by position, as the file says; empty: they are the positions
  std::uint64_t skipped = 0;         // broken lines (keep_going)
  std::string first_skipped;         // why the first of them was skipped
  bool cut_off = false;              // the only broken line is the last one
  Places places;                     // by position in the file
  std::vector<std::size_t> order;    // sort_by_time(): by position: the position in the file; else empty
  std::uint64_t times_fell = 0;      // how often an event has an earlier time than the one before it
  std::vector<NotUnderstood> not_understood;  // by first
  std::string header;                         // the header line (checks/questions.h); "": there is none
  Place header_place;
  std::uint64_t index_of(std::size_t position) const { return index.empty() ? position : index[position]; }
  Place place_of(std::size_t position) const { return places.of(order.empty() ? position : order[position]); }
};

// The text as a string of JSON, with its quotes.
void append_json_text(std::string_view text, std::string& out);

// Reads to the end. Holds one block and one line of text in memory, no more. Skips fields that it does not
// know, and empty lines. If no event has a `time`, each has its position as time. Events come in the order of
// the file, also where times fall. Throws FormatError.
ReadHistory read_jsonl(std::istream& in, const ReadOptions& options = {});
// Reads from memory, for tests and small files.
History from_jsonl(std::string_view text);

}  // namespace holdfast::checker
