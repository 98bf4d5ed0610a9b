#include "tools/holdfast/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sim/scenario/problem.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 16;
constexpr std::size_t kWordsOfALine = 8;

std::uint64_t word_from(const char* begin, const char* end) {
  std::uint64_t word = 0;
  const auto [stop, error] = std::from_chars(begin, end, word, 16);
  if (error != std::errc() || stop != end || end - begin != kDigits)
    throw std::runtime_error("`" + std::string(begin, end) + "` is no word of 16 hex digits");
  return word;
}

}  // namespace

Json read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw BadUsage(path + ": cannot be read, expected a file of JSON");
  Json document = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) throw BadUsage(path + ": is no JSON, expected a result of holdfast");
  return document;
}

std::vector<std::string> json_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> found;
  fs::directory_iterator at(path, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") found.push_back(at->path().string());
  }
  if (error) throw BadUsage(fmt::format("{}: cannot be read ({})", path, error.message()));
  if (found.empty()) throw BadUsage(path + ": no results in this folder, expected *.json");
  std::sort(found.begin(), found.end());
  return found;
}

void reading(const std::string& path, const std::string& expected, const std::function<void()>& read) {
  const auto refuse = [&](const std::string& why) {
    throw BadUsage(path + ": cannot be used (" + why + "), expected " + expected);
  };
  try {
    read();
  } catch (const BadUsage&) {
    throw;
  } catch (const nlohmann::json::exception& problem) {
    const std::string whole = problem.what();  // "[json.exception.out_of_range.403] key 'seed' not found"
    const std::size_t begin = whole.find("] ");
    refuse(begin == std::string::npos ? whole : whole.substr(begin + 2));
  } catch (const std::runtime_error& problem) {  // also sim::BadScenario
    refuse(problem.what());
  }
}

std::uint64_t number_of(const Json& value) {
  if (!value.is_number_unsigned()) throw std::runtime_error("`" + value.dump() + "` is no whole number");
  return value.get<std::uint64_t>();
}

std::uint64_t word_of(const Json& value) {
  const auto& text = value.get_ref<const std::string&>();
  return word_from(text.data(), text.data() + text.size());
}

std::string hex_of(std::uint64_t word) { return fmt::format("{:016x}", word); }

Json words_of(const std::vector<std::uint64_t>& words) {
  Json lines = Json::array();
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    line += (line.empty() ? "" : " ") + hex_of(words[i]);
    if (i % kWordsOfALine != kWordsOfALine - 1 && i + 1 < words.size()) continue;
    lines.push_back(line);
    line.clear();
  }
  return lines;
}

std::vector<std::uint64_t> words_from(const Json& value) {
  std::vector<std::uint64_t> words;
  for (const Json& line : value) {
    const auto& text = line.get_ref<const std::string&>();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      words.push_back(word_from(text.data() + begin, text.data() + end));
      begin = end + 1;
    }
  }
  return words;
}

std::string text_of(const Json& document) {
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::tools
