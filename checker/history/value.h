// Value: what a register holds, an operation carries, or a fencing token is: nothing, a whole number, a text,
// or a structure that is compared as a whole. Eight bytes.
//
// A number within 60 bits lies in the value itself. Everything else is a Symbol of the history that the value
// belongs to, with its kind, so two values of one history are equal exactly when their eight bytes are. No
// value of a file is folded into another: the text "1" is not the number 1, and :a is not "a".
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "checker/invariant.h"

namespace holdfast::checker {

// Index into a History's table of strings; 0 is the empty string and means "absent".
using Symbol = std::uint32_t;

class Value {
 public:
  enum class Kind : std::uint8_t {
    nothing,       // absent, null, nil
    number,        // a whole number from least() to most()
    great_number,  // a whole number beyond them: its digits, without leading zeros
    text,          // a string
    structure      // anything else, in one canonical form: `:a`, `1.5`, `true`, `[1 2]`, `{"a":1}`
  };

  constexpr Value() = default;
  // REQUIRES: fits(number). History::number() takes every number.
  constexpr explicit Value(std::int64_t number)
      : bits_((static_cast<std::uint64_t>(number) << kShift) | static_cast<std::uint64_t>(Kind::number)) {
    CHECKER_INVARIANT(fits(number), "a number within 60 bits lies in the value");
  }
  // REQUIRES: `kind` is none of nothing and number.
  constexpr Value(Kind kind, Symbol symbol)
      : bits_((std::uint64_t{symbol} << kShift) | static_cast<std::uint64_t>(kind)) {}
  static constexpr Value from_bits(std::uint64_t bits) {
    Value value;
    value.bits_ = bits;
    return value;
  }

  static constexpr std::int64_t least() { return -(std::int64_t{1} << 60); }
  static constexpr std::int64_t most() { return (std::int64_t{1} << 60) - 1; }
  static constexpr bool fits(std::int64_t number) { return number >= least() && number <= most(); }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ & 7U); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool is_number() const { return kind() == Kind::number; }
  constexpr bool has_symbol() const { return kind() > Kind::number; }
  // REQUIRES: is_number().
  constexpr std::int64_t number() const {
    CHECKER_INVARIANT(is_number(), "a value that is asked for its number is one");
    return static_cast<std::int64_t>(bits_) >> kShift;
  }
  constexpr std::int64_t number_or(std::int64_t otherwise) const {
    return is_number() ? static_cast<std::int64_t>(bits_) >> kShift : otherwise;
  }
  // REQUIRES: has_symbol().
  constexpr Symbol symbol() const {
    CHECKER_INVARIANT(has_symbol(), "a value that is asked for its symbol has one");
    return static_cast<Symbol>(bits_ >> kShift);
  }
  // For hashes, and for the states of models. Of two numbers the greater one has the greater bits.
  constexpr std::int64_t bits() const { return static_cast<std::int64_t>(bits_); }

  friend constexpr bool operator==(Value, Value) = default;
  // An order for containers; among numbers it is theirs.
  friend constexpr std::strong_ordering operator<=>(Value a, Value b) { return a.bits() <=> b.bits(); }
  // The value is that number.
  friend constexpr bool operator==(Value value, std::int64_t number) {
    return value.is_number() && value.number() == number;
  }

 private:
  static constexpr int kShift = 3;
  std::uint64_t bits_ = 0;
};

// Whether `text` is a whole number in decimal digits: `-17`, `+5`, `007`, of any length. If so `digits`
// receives its canonical form ("-17", "5", "7", "0").
bool is_whole_number(std::string_view text, std::string& digits);

// Compares two whole numbers of any length in canonical form.
std::strong_ordering compare_digits(std::string_view a, std::string_view b);

}  // namespace holdfast::checker
