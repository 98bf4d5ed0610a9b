#include "sim/redis/testing/oracle_case.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "lib/testing/server/server_connection.h"

namespace holdfast::sim::oracle {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char unescaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
  }
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string show(const redis::Reply& reply) {
  using Type = redis::Reply::Type;
  switch (reply.type) {
    case Type::nil: return "nil";
    case Type::integer: return ":" + std::to_string(reply.integer);
    case Type::status: return "+" + escape(reply.text);
    case Type::error: return "-" + escape(reply.text);
    case Type::bulk: return "\"" + escape(reply.text) + "\"";
    case Type::array: break;
  }
  std::string text = "[";
  for (const redis::Reply& item : reply.items) text += (text.size() > 1 ? ", " : "") + show(item);
  return text + "]";
}

void add_file(const std::filesystem::path& path, std::vector<Case>& cases) {
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string at = path.filename().string() + ":" + std::to_string(number);
    if (line.starts_with("=== ")) {
      Case next{.name = line.substr(4), .origin = at, .steps = {}};
      if (next.name.starts_with("[replica] ")) {
        next.replica = true;
        next.name = next.name.substr(10);
      }
      if (next.name.starts_with("[pair] ")) {
        next.pair = true;
        next.name = next.name.substr(7);
      }
      cases.push_back(next);
    } else if (!line.empty() && !line.starts_with("#")) {
      if (cases.empty()) throw std::runtime_error(at + ": a step before the first case");
      try {
        parse_step(line);
      } catch (const std::runtime_error& error) {
        throw std::runtime_error(at + ": " + error.what());
      }
      cases.back().steps.push_back(line);
    }
  }
}

}  // namespace

void PrintTo(const Case& one, std::ostream* out) { *out << one.origin; }

std::string test_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

std::string escape(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    if (c == '\r') {
      text += "\\r";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c < 32 || c == 127) {
      const auto byte = static_cast<unsigned char>(c);
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += c;
    }
  }
  return text;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    std::string word;
    while (i < line.size() && line[i] != ' ') {
      const char quote = line[i];
      if (quote != '"' && quote != '\'') {
        word += line[i++];
        continue;
      }
      for (++i;; ++i) {
        if (i >= line.size()) throw std::runtime_error("unbalanced quotes");
        if (line[i] == quote) break;
        if (line[i] != '\\' || i + 1 >= line.size() || (quote == '\'' && line[i + 1] != '\'')) {
          word += line[i];
        } else if (line[i + 1] == 'x' && i + 3 < line.size() && hex(line[i + 2]) >= 0 &&
                   hex(line[i + 3]) >= 0) {
          word += static_cast<char>(hex(line[i + 2]) * 16 + hex(line[i + 3]));
          i += 3;
        } else {
          word += unescaped(line[++i]);
        }
      }
      ++i;
    }
    words.push_back(word);
  }
  return words;
}

Duration parse_duration(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error == std::errc()) {
    if (unit == "us") return std::chrono::microseconds(value);
    if (unit == "ms") return std::chrono::milliseconds(value);
    if (unit == "s") return std::chrono::seconds(value);
    if (unit == "m") return std::chrono::minutes(value);
    if (unit == "h") return std::chrono::hours(value);
  }
  throw std::runtime_error("not a duration: " + std::string(text));
}

Step parse_step(std::string_view line) {
  static const std::vector<std::string> kForms = {"send",         "read",   "close", "raw",
                                                  "advance",      "attach", "ack",   "detach",
                                                  "wait-replica", "stream", "drain", "until"};
  static const std::vector<std::string> kNormalisers = {"any", "sorted", "pairs", "fields", "attrs", "let"};
  Step step;
  step.form = "command";
  step.words = split_words(line);
  const auto shift = [&step] {
    if (step.words.empty()) throw std::runtime_error("the step ends too soon");
    std::string word = step.words.front();
    step.words.erase(step.words.begin());
    return word;
  };
  if (!step.words.empty() && step.words[0].size() <= 3 && step.words[0].size() >= 2 &&
      step.words[0].back() == ':') {
    step.connection = shift();
    step.connection.pop_back();
    if (step.connection == "B") step.connection = "B1";
  }
  if (!step.words.empty() && contains(kForms, step.words[0])) {
    step.form = shift();
  } else if (!step.words.empty() && contains(kNormalisers, step.words[0])) {
    step.normalise = shift();
    if (step.normalise == "fields" || step.normalise == "attrs" || step.normalise == "let") {
      step.wanted = split(shift(), ',');
    }
    if (!step.words.empty() && step.words[0] == "read") step.form = shift();
  }
  if (step.form == "until") step.wanted = {shift()};
  const bool takes_words = step.form == "command" || step.form == "send" || step.form == "raw" ||
                           step.form == "advance" || step.form == "until";
  if (takes_words == step.words.empty()) throw std::runtime_error("wrong number of words");
  if (step.form == "advance") parse_duration(step.words[0]);
  return step;
}

std::string show_reply(std::string_view raw, const Step& step) {
  if (raw.empty()) return "(nothing)";
  if (step.normalise == "any" || step.normalise == "let") return "any " + std::string(raw.substr(0, 1));
  if (raw[0] == '-' || step.normalise.empty()) return escape(raw);
  redis::Reply reply;
  parse_reply(raw, &reply);
  if (step.normalise == "sorted" || step.normalise == "pairs") {
    const std::size_t width = step.normalise == "pairs" ? 2 : 1;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < reply.items.size(); ++i) {
      if (i % width == 0) parts.emplace_back();
      parts.back() += show(reply.items[i]) + " ";
    }
    std::sort(parts.begin(), parts.end());
    std::string text = reply.type == redis::Reply::Type::array ? "" : show(reply);
    for (const std::string& part : parts) text += part;
    return step.normalise + (raw[0] == '*' ? "" : std::string(1, raw[0])) + " " + text;
  }
  std::string text;
  for (const std::string& line : split(reply.text, '\n')) {
    if (step.normalise == "fields") {
      if (contains(step.wanted, line.substr(0, line.find(':')))) text += escape(line) + " ";
    } else {
      for (const std::string& word : split(line, ' ')) {
        if (contains(step.wanted, word.substr(0, word.find('=')))) text += escape(word) + " ";
      }
      text += "| ";
    }
  }
  return text;
}

std::vector<Case> load_cases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cases") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases;
  for (const auto& path : paths) add_file(path, cases);
  return cases;
}

}  // namespace holdfast::sim::oracle
