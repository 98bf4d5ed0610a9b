#include "sim/replay/page_parts.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "generated/replay_base.h"
#include "generated/replay_frame.h"
#include "generated/replay_head.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;

// Writes `page` until the mark, which it takes off.
void write_until(std::string_view& page, std::string_view mark, std::ostream& out) {
  const std::size_t at = page.find(mark);
  out << page.substr(0, at);
  page.remove_prefix(at + mark.size());
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = out.find('<', at)) != std::string::npos;) out.replace(at, 1, "\\u003c");
  return out;
}

std::string json_time(std::int64_t ns) {
  if (ns % 1000 == 0) return std::to_string(ns / 1000);
  const std::int64_t whole = ns / 1000, rest = std::abs(ns % 1000);
  return fmt::format("{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole, rest);
}
std::string json_time(const std::optional<std::int64_t>& ns) { return ns ? json_time(*ns) : "null"; }

std::string json_exact(std::uint64_t number) {
  return number <= kMostExact ? std::to_string(number) : fmt::format("\"0x{:016x}\"", number);
}

void write_parts(const PageParts& parts, const std::function<void(std::ostream&)>& data, std::ostream& out) {
  std::string_view head = kReplayHead, body = parts.body;
  write_until(head, "/*STYLE*/", out);
  out << kReplayBase << "\n";
  for (const std::string_view style : parts.styles) out << style << "\n";
  out << head;
  write_until(body, "/*DATA*/", out);
  data(out);
  write_until(body, "/*SCRIPT*/", out);
  out << kReplayFrame << "\n";
  for (const std::string_view script : parts.scripts) out << script << "\n";
  out << body;
}

}  // namespace holdfast::sim
