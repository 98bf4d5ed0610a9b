#include "sim/external/told_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace holdfast::sim {
namespace {

using checker::EventType;
using checker::Function;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 8> kFunctions = {"acquire", "release", "renew", "lost",
                                                        "read",    "write",   "cas",   "sell"};
constexpr std::array<std::string_view, 11> kFields = {
    "type", "f", "key", "thread", "id", "mode", "error", "value", "permits", "valid_for_ms", "token"};
constexpr std::int64_t kMostThreads = 1000;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;

class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {
    try {
      // The parser takes nan and a byte order mark for errors as well.
      json_ = Json::parse(text);
    } catch (const Json::parse_error& error) {
      fail_at(std::max<std::size_t>(error.byte, 1), "is no JSON");
    }
    if (!json_.is_object()) fail_at(1, "is no JSON object");
    for (const auto& [name, value] : json_.items()) {
      if (std::find(kFields.begin(), kFields.end(), name) == kFields.end())
        throw BadLine(column(name), "unknown field `" + name + "`");
    }
  }

  bool has(std::string_view name) const {
    const auto found = json_.find(name);
    return found != json_.end() && !found->is_null();
  }

  std::string text(std::string_view name) const {
    if (!has(name)) return "";
    const Json& value = *json_.find(name);
    if (!value.is_string()) wrong(name, "a string");
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > 200) wrong(name, "at most 200 bytes");
    return text;
  }

  std::optional<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most) const {
    if (!has(name)) return std::nullopt;
    const Json& value = *json_.find(name);
    const std::string expected =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value.is_number_integer()) wrong(name, expected);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
      wrong(name, expected);
    const auto number = value.get<std::int64_t>();
    if (number < least || number > most) wrong(name, expected);
    return number;
  }

  std::optional<std::int64_t> milliseconds(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    const Json& value = *json_.find(name);
    if (!value.is_number()) wrong(name, "a number of milliseconds");
    const auto time = value.get<double>();
    if (!std::isfinite(time) || time > 1e12) wrong(name, "a number of milliseconds, at most 1e12");
    return static_cast<std::int64_t>(std::floor(std::max(time, 0.0) * 1e6));
  }

  [[noreturn]] void wrong(std::string_view name, const std::string& expected) const {
    throw BadLine(column(name), "`" + std::string(name) + "` is " + shown(json_.value(name, Json()).dump()) +
                                    ", expected " + expected);
  }
  [[noreturn]] void missing(std::string_view name, const std::string& expected) const {
    throw BadLine(1, "has no `" + std::string(name) + "`, expected " + expected);
  }

 private:
  // Of the field's name: where it stands, a reader sees what is meant.
  std::size_t column(std::string_view name) const {
    const std::size_t at = text_.find("\"" + std::string(name) + "\"");
    return at == std::string_view::npos ? 1 : at + 1;
  }
  static std::string shown(const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  }
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const {
    throw BadLine(column, "`" + shown(std::string(text_)) + "` " + what +
                              R"(, expected such as {"type":"invoke","f":"acquire"})");
  }

  std::string_view text_;
  Json json_;
};

void check_fields(const Line& line, const ToldLine& told) {
  const bool lock = told.f == Function::acquire || told.f == Function::release;
  const bool grants =
      told.type == EventType::ok && (told.f == Function::acquire || told.f == Function::renew);
  const auto only = [&](std::string_view name, bool here, const char* where) {
    if (line.has(name) && !here) line.wrong(name, std::string("it with ") + where + " only");
  };
  only("valid_for_ms", grants, "the `ok` of an acquire or a renewal");
  only("token",
       (told.f == Function::acquire && told.type == EventType::ok) || told.f == Function::write ||
           told.f == Function::cas,
       "the `ok` of an acquire, a write or a cas");
  only("mode", told.f == Function::acquire, "an acquire");
  only("permits", lock, "an acquire or a release");
  const bool resource = told.f == Function::read || told.f == Function::write || told.f == Function::cas;
  only("value", resource, "read, write or cas");
  if (told.type == EventType::ok && resource && !told.value)
    line.missing("value", "what was read or written");
  if (told.f == Function::lost && told.type != EventType::ok)
    line.wrong("type", "\"ok\": a loss is told once");
}

}  // namespace

ToldLine parse_told(std::string_view text) {
  const Line line(text);
  ToldLine told;
  if (!line.has("type")) line.missing("type", "invoke, ok, fail or info");
  if (!checker::parse(line.text("type"), told.type)) line.wrong("type", "invoke, ok, fail or info");
  if (!line.has("f")) line.missing("f", "acquire, release, renew, lost, read, write, cas or sell");
  const std::string f = line.text("f");
  if (std::find(kFunctions.begin(), kFunctions.end(), f) == kFunctions.end() || !checker::parse(f, told.f))
    line.wrong("f", "acquire, release, renew, lost, read, write, cas or sell");
  told.key = line.text("key");
  told.id = line.text("id");
  told.mode = line.text("mode");
  if (!told.mode.empty() && told.mode != "read" && told.mode != "write")
    line.wrong("mode", "\"read\" or \"write\"");
  told.error = line.text("error");
  told.thread = static_cast<int>(line.number("thread", 0, kMostThreads - 1).value_or(0));
  told.value = line.number("value", -kMostNumber, kMostNumber);
  told.token = line.number("token", -kMostNumber, kMostNumber);
  told.permits = static_cast<std::uint32_t>(line.number("permits", 1, 1'000'000).value_or(0));
  told.valid_for_ns = line.milliseconds("valid_for_ms");
  check_fields(line, told);
  return told;
}

}  // namespace holdfast::sim
