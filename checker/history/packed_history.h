// PackedHistory: a history in a quarter of the memory, for files of millions of operations.
//
// The fixed part of an event takes 16 bytes: time, key, process, type and function. Fields that few events
// have (owner, token, valid_until, ...) follow in words of four bytes, and only where they are there. An
// operation of a Jepsen file takes 32 bytes, one with all our fields about 100. Events are kept in blocks of
// 4,096, so that growing copies nothing.
//
//   PackedHistory packed;
//   Event event = ...;
//   event.process = packed.intern("c1/0");
//   packed.append(event);                    // at position packed.size() before
//
// check_linearizable(packed, options) judges it as it is; other checks need unpack() or subset().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::checker {

// Not thread-safe. Can be moved, not copied.
class PackedHistory {
 public:
  // What every event has. process() is kManyProcesses where the symbol is greater than that; the event then
  // has it among its other fields.
  struct Fixed {
    std::int64_t time_ns;
    Symbol key;
    std::uint32_t bits;
    EventType type() const { return static_cast<EventType>(bits & 3U); }
    Function f() const { return static_cast<Function>((bits >> 2) & 31U); }
    bool more() const { return ((bits >> 7) & 1U) != 0; }  // it has other fields
    Symbol process() const { return bits >> 8; }
  };
  static constexpr Symbol kManyProcesses = (Symbol{1} << 24) - 1;

  PackedHistory() = default;
  // Shares the strings of `names`, and takes none of its events.
  explicit PackedHistory(const History& names) : names_(names.names()) {}
  static PackedHistory pack(const History& history);
  PackedHistory(PackedHistory&&) = default;
  PackedHistory& operator=(PackedHistory&&) = default;

  Symbol intern(std::string_view text) { return names_.intern(text); }
  std::string_view text(Symbol symbol) const { return names_.text(symbol); }
  std::size_t symbols() const { return names_.symbols(); }
  const History& names() const { return names_; }  // the strings, without events

  void append(const Event& event);
  std::size_t size() const { return size_; }
  static Event plain(const Fixed& core);    // an event without other fields
  Event event(std::size_t position) const;  // O(1): decodes at most 64 events
  History unpack() const;
  History subset(const std::vector<std::size_t>& positions) const;  // as History::subset()
  std::uint64_t bytes() const;                                      // of the events, without strings

  // Calls plain(position, fixed) for an event without other fields, and full(position, fixed, event) for one
  // with them, in the order of the history.
  template <typename Plain, typename Full>
  void for_each(Plain&& plain, Full&& full) const {
    std::size_t position = 0;
    for (const auto& block : blocks_) {
      const std::uint32_t* more = block->more.data();
      for (std::size_t i = 0; i < kBlock && position < size_; ++i, ++position) {
        const Fixed& core = block->fixed[i];
        if (core.more()) {
          full(position, core, decode(core, more));
        } else {
          plain(position, core);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 4096, kStep = 64;
  struct Block {
    std::array<Fixed, kBlock> fixed;
    std::array<std::uint32_t, kBlock / kStep> begins{};  // of every 64th event: where its words begin
    std::vector<std::uint32_t> more;
  };
  // Moves `more` behind the event's words.
  static Event decode(const Fixed& core, const std::uint32_t*& more);

  History names_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace holdfast::checker
