// The table of strings: text in an arena, found by open addressing. And the names of types and functions.
#include "checker/history/history.h"

#include <array>
#include <cstring>

#include "checker/invariant.h"

namespace holdfast::checker {

namespace {

constexpr std::uint64_t mixed(std::uint64_t hash) {
  hash ^= hash >> 32;
  hash *= 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

// Mixes in eight bytes at a time. The hash decides a text's slot in the table and nothing else.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size() * 0xD6E8FEB86659FD93ULL;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left > 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mixed(hash ^ word);
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
  return mixed(hash ^ word);
}

constexpr std::array<std::string_view, 4> kTypes = {"invoke", "ok", "fail", "info"};
constexpr std::array<std::string_view, 19> kFunctions = {
    "acquire", "release",     "renew",        "lost",         "read",  "write", "cas",
    "sell",    "store-grant", "store-remove", "store-extend", "fault", "mark",  "crash",
    "queue",   "resize",      "count-down",   "await",        "effect"};
static_assert(static_cast<std::size_t>(Function::other) == kFunctions.size());

}  // namespace

struct History::Table {
  static constexpr std::size_t kBlock = std::size_t{1} << 16;

  std::vector<std::unique_ptr<char[]>> blocks;
  std::size_t left = 0;  // free bytes from `next` on
  char* next = nullptr;
  std::vector<std::string_view> texts;  // by symbol
  std::vector<std::uint32_t> hashes;    // by symbol, so that growing reads no text
  std::vector<Symbol> slots;            // 0: empty. A power of two, at most half full

  Table() : texts{std::string_view{}}, hashes{0}, slots(1024, 0) {}

  std::string_view store(std::string_view text) {
    if (text.size() > left) {
      const std::size_t size = text.size() > kBlock / 4 ? text.size() : kBlock;
      blocks.push_back(std::make_unique<char[]>(size));
      if (size != kBlock) {  // a long text has a block of its own; the present block stays in use
        std::memcpy(blocks.back().get(), text.data(), text.size());
        return {blocks.back().get(), text.size()};
      }
      next = blocks.back().get();
      left = kBlock;
    }
    std::memcpy(next, text.data(), text.size());
    const std::string_view kept(next, text.size());
    next += text.size();
    left -= text.size();
    return kept;
  }

  void grow() {
    slots.assign(slots.size() * 2, 0);
    const std::size_t mask = slots.size() - 1;
    for (Symbol symbol = 1; symbol < texts.size(); ++symbol) {
      std::size_t at = hashes[symbol] & mask;
      while (slots[at] != 0) at = (at + 1) & mask;
      slots[at] = symbol;
    }
  }

  Symbol intern(std::string_view text) {
    if (text.empty()) return 0;
    const auto hash = static_cast<std::uint32_t>(hash_of(text));
    const std::size_t mask = slots.size() - 1;
    std::size_t at = hash & mask;
    for (; slots[at] != 0; at = (at + 1) & mask) {
      const Symbol symbol = slots[at];
      if (hashes[symbol] == hash && texts[symbol] == text) return symbol;
    }
    CHECKER_INVARIANT(texts.size() < std::numeric_limits<Symbol>::max(),
                      "a history has fewer than 2^32 strings");
    const auto symbol = static_cast<Symbol>(texts.size());
    texts.push_back(store(text));
    hashes.push_back(hash);
    slots[at] = symbol;
    if (texts.size() * 2 > slots.size()) grow();
    return symbol;
  }
};

History::History() : table_(std::make_shared<Table>()) {}

Symbol History::intern(std::string_view text) { return table_->intern(text); }

std::string_view History::text(Symbol symbol) const {
  CHECKER_INVARIANT(symbol < table_->texts.size(), "a symbol belongs to the history that made it");
  return table_->texts[symbol];
}

std::size_t History::symbols() const { return table_->texts.size(); }

History History::subset(const std::vector<std::size_t>& positions) const {
  History copy;
  copy.reserve(positions.size());
  for (const std::size_t position : positions) {
    CHECKER_INVARIANT(position < events_.size(), "positions of a subset lie in the history");
    Event event = events_[position];
    for (Symbol* symbol :
         {&event.process, &event.key, &event.id, &event.owner, &event.mode, &event.node, &event.error}) {
      *symbol = copy.intern(text(*symbol));
    }
    for (std::int64_t* value : {&event.value, &event.token}) {
      if (is_text_value(*value)) *value = text_value(copy.intern(text(symbol_of_value(*value))));
    }
    copy.append(event);
  }
  return copy;
}

History History::names() const {
  History shared;
  shared.table_ = table_;
  return shared;
}

std::string_view to_string(EventType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string_view to_string(Function f) {
  return f == Function::other ? std::string_view("other") : kFunctions[static_cast<std::size_t>(f)];
}

bool parse(std::string_view text, EventType& out) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == text) return out = static_cast<EventType>(i), true;
  }
  return false;
}

bool parse(std::string_view text, Function& out) {
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if (kFunctions[i] == text) return out = static_cast<Function>(i), true;
  }
  return false;
}

}  // namespace holdfast::checker
