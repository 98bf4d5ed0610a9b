// What pages are put together from: the parts that lie in page/, and data as JSON inside a <script> element.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

// A text as JSON, with no `<` in it.
std::string json_text(std::string_view text);
// Nanoseconds as microseconds; nullopt: null.
std::string json_time(std::int64_t ns);
std::string json_time(const std::optional<std::int64_t>& ns);
// Numbers that JavaScript has no exact word for are texts.
std::string json_exact(std::uint64_t number);

// The page that begins with the head that all share: its styles, its data, its scripts.
struct PageParts {
  std::string_view body;
  std::vector<std::string_view> styles, scripts;
};
void write_parts(const PageParts& parts, const std::function<void(std::ostream&)>& data, std::ostream& out);

}  // namespace holdfast::sim
