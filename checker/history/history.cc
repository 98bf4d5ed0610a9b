// The table of strings: text in an arena, found by open addressing. And the names of types and functions.
#include "checker/history/history.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "checker/history/huge_pages.h"
#include "checker/history/short_word.h"
#include "checker/invariant.h"
#include "checker/planted.h"

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
constexpr std::array<std::string_view, 24> kFunctions = {
    "acquire",     "release",      "renew",        "lost",   "read",    "write",   "cas",   "sell",
    "store-grant", "store-remove", "store-extend", "fault",  "mark",    "crash",   "queue", "resize",
    "count-down",  "await",        "effect",       "append", "enqueue", "dequeue", "add",   "txn"};
constexpr std::array<std::pair<std::string_view, Function>, 4> kOtherNames = {{{"lock", Function::acquire},
                                                                               {"unlock", Function::release},
                                                                               {"get", Function::read},
                                                                               {"put", Function::write}}};
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
  bool jepsen = false;

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

void History::reserve(std::size_t events) { reserve_huge(events_, events); }

std::size_t History::symbols() const { return table_->texts.size(); }

History History::subset(const std::vector<std::size_t>& positions) const {
  History copy;
  if (jepsen()) copy.set_jepsen();
  copy.reserve(positions.size());
  for (const std::size_t position : positions) {
    CHECKER_INVARIANT(position < events_.size(), "positions of a subset lie in the history");
    Event event = events_[position];
    for (Symbol* symbol :
         {&event.process, &event.key, &event.id, &event.owner, &event.mode, &event.node, &event.error}) {
      *symbol = copy.intern(text(*symbol));
    }
    for (Value* value : {&event.value, &event.token}) {
      if (value->has_symbol()) *value = {value->kind(), copy.intern(text(value->symbol()))};
    }
    copy.append(event);
  }
  return copy;
}

Value History::number(std::int64_t number) {
  if (Value::fits(number)) return Value(number);
  return {Value::Kind::great_number, intern(std::to_string(number))};
}

Value History::number(std::string_view digits) {
  std::int64_t small = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), small);
  if (end.ec == std::errc{} && Value::fits(small)) return Value(small);
  return {Value::Kind::great_number, intern(digits)};
}

std::string History::shown(Value value) const {
  switch (value.kind()) {
    case Value::Kind::nothing: return "nil";
    case Value::Kind::number: return std::to_string(value.number());
    case Value::Kind::text: return '"' + std::string(text(value.symbol())) + '"';
    case Value::Kind::great_number:
    case Value::Kind::structure: break;
  }
  return std::string(text(value.symbol()));
}

std::optional<std::strong_ordering> History::compare(Value a, Value b) const {
  if (a.is_number() && b.is_number()) return a.number() <=> b.number();
  const auto digits = [this](Value value) {
    return value.is_number()                           ? std::to_string(value.number())
           : value.kind() == Value::Kind::great_number ? std::string(text(value.symbol()))
                                                       : std::string();
  };
  const std::string of_a = digits(a), of_b = digits(b);
  if (of_a.empty() || of_b.empty()) return std::nullopt;
  return compare_digits(of_a, of_b);
}

std::optional<Value> History::rank(const std::vector<Value*>& values) const {
  std::vector<Value*> sorted;
  bool great = false;
  for (Value* const value : values) {
    if (value->empty()) continue;
    if (!value->is_number() && value->kind() != Value::Kind::great_number) return *value;
    great = great || !value->is_number();
    sorted.push_back(value);
  }
  if (!great) return std::nullopt;
  std::sort(sorted.begin(), sorted.end(),
            [this](const Value* a, const Value* b) { return *compare(*a, *b) < 0; });
  std::int64_t next = 0;
  Value before;
  for (Value* const value : sorted) {
    if (*value != before) ++next;
    before = *value;
    *value = Value(next);
  }
  return std::nullopt;
}

void History::set_jepsen() { table_->jepsen = true; }
bool History::jepsen() const { return table_->jepsen; }

History History::names() const {
  History shared;
  shared.table_ = table_;
  return shared;
}

void normalise_token(Event& event, History& history) {
  if (event.f == Function::cas || event.token.kind() != Value::Kind::text) return;
  if (HOLDFAST_PLANTED(text_tokens_by_appearance))
    return void(event.token = Value(std::int64_t{event.token.symbol()}));
  std::string digits;
  if (is_whole_number(history.text(event.token.symbol()), digits)) event.token = history.number(digits);
}

std::string_view to_string(EventType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string_view to_string(Function f) {
  return f == Function::other ? std::string_view("other") : kFunctions[static_cast<std::size_t>(f)];
}

bool parse(std::string_view text, EventType& out) {
  switch (short_word(text)) {
    case short_word("invoke"): return out = EventType::invoke, true;
    case short_word("ok"): return out = EventType::ok, true;
    case short_word("fail"): return out = EventType::fail, true;
    case short_word("info"):
      return out = HOLDFAST_PLANTED(info_is_fail) ? EventType::fail : EventType::info, true;
    default: return false;
  }
}

bool parse(std::string_view text, Function& out) {
  switch (short_word(text)) {  // those of which histories are full
    case short_word("acquire"): return out = Function::acquire, true;
    case short_word("release"): return out = Function::release, true;
    case short_word("read"): return out = Function::read, true;
    case short_word("write"): return out = Function::write, true;
    case short_word("cas"): return out = Function::cas, true;
    default: break;
  }
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if (kFunctions[i] == text) return out = static_cast<Function>(i), true;
  }
  for (const auto& [name, f] : kOtherNames) {
    if (name == text && !HOLDFAST_PLANTED(unlock_is_unknown)) return out = f, true;
  }
  return false;
}

Pairing pairing_of(Function f) {
  switch (f) {
    case Function::acquire:
    case Function::release: return Pairing::lock;
    case Function::read:
    case Function::write:
    case Function::cas:
    case Function::append:
    case Function::enqueue:
    case Function::dequeue:
    case Function::add:
    case Function::txn: return Pairing::resource;
    case Function::sell: return Pairing::sale;
    case Function::count_down:
    case Function::await: return Pairing::latch;
    case Function::renew:
    case Function::store_grant:
    case Function::store_remove:
    case Function::store_extend:
    case Function::resize:
    case Function::other: return Pairing::many;
    case Function::lost:
    case Function::fault:
    case Function::mark:
    case Function::crash:
    case Function::queue:
    case Function::effect: return Pairing::alone;
  }
  return Pairing::many;
}

}  // namespace holdfast::checker
