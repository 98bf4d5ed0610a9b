#include "checker/history/value.h"

#include <algorithm>

#include "checker/planted.h"

namespace holdfast::checker {

bool is_whole_number(std::string_view text, std::string& digits) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  const std::size_t zeros = text.find_first_not_of('0');
  if (zeros == std::string_view::npos) return digits = "0", true;
  digits = negative ? "-" : "";
  digits += text.substr(zeros);
  return true;
}

std::strong_ordering compare_digits(std::string_view a, std::string_view b) {
  const bool a_negative = a.starts_with('-'), b_negative = b.starts_with('-');
  if (a_negative != b_negative) {
    return a_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_negative) return compare_digits(b.substr(1), a.substr(1));
  return a.size() != b.size() && !HOLDFAST_PLANTED(great_numbers_as_text) ? a.size() <=> b.size() : a <=> b;
}

}  // namespace holdfast::checker
