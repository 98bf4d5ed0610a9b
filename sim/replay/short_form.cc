#include "sim/replay/short_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checker/story/text_layout.h"
#include "generated/historic_scripts.h"
#include "generated/lock_scripts.h"
#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kMostOfWord = 44, kMostWords = 9, kMostCommands = 3;
constexpr std::size_t kDeepest = 3;

std::string word(std::string_view text, const OwnerOf& owner) {
  if (text.empty()) return "\"\"";
  if (const std::string of = owner(text); !of.empty()) {
    const std::size_t blank = text.find(' ');  // "OWNER write"
    return "<" + of + ">" + (blank == std::string_view::npos ? "" : std::string(text.substr(blank)));
  }
  const std::string shown = checker::printable(checker::shortened(text, kMostOfWord));
  return shown.find(' ') == std::string::npos ? shown : "\"" + shown + "\"";
}

// "" none of ours: its digest is all that is known.
std::string_view script_of(std::string_view sha1) {
  for (const redis::Script* const script : lock_scripts::kAll) {
    if (script->sha1 == sha1) return script->name;
  }
  for (const redis::Script* const script : historic_scripts::kAll) {
    if (script->sha1 == sha1) return script->name;
  }
  return {};
}

std::string_view script_with(std::string_view text) {
  for (const redis::Script* const script : lock_scripts::kAll) {
    if (script->text == text) return script->name;
  }
  for (const redis::Script* const script : historic_scripts::kAll) {
    if (script->text == text) return script->name;
  }
  return {};
}

bool is_routine(std::string_view command) {
  static constexpr std::array<std::string_view, 9> kRoutine = {
      "PING", "REPLCONF", "HELLO", "CLIENT", "INFO", "ROLE", "AUTH", "COMMAND", "SELECT"};
  return std::find(kRoutine.begin(), kRoutine.end(), command) != kRoutine.end();
}

// The commands of a replication stream, as far as the chunk has them whole.
ShortForm commands_in(std::string_view bytes, const OwnerOf& owner) {
  ShortForm form{.text = "", .routine = true};
  std::vector<std::string_view> arguments;
  std::size_t commands = 0;
  while (!bytes.empty()) {
    const std::size_t size = parse_request(bytes, arguments);
    if (size == 0) break;
    bytes.remove_prefix(size);
    if (arguments.empty()) continue;
    if (++commands <= kMostCommands)
      form.text += (form.text.empty() ? "" : "; ") + short_request(arguments, owner);
    form.routine = form.routine && is_routine(upper_case(arguments.front()));
  }
  if (commands > kMostCommands) form.text += fmt::format("; {} more", commands - kMostCommands);
  if (!bytes.empty()) form.text += fmt::format("{}{} bytes", commands > 0 ? "; " : "", bytes.size());
  return form;
}

ShortForm chunk_form(const Passage& passage, const OwnerOf& owner) {
  const std::string_view bytes = passage.bytes;
  if (passage.link.bus) return {.text = fmt::format("gossip, {} bytes", bytes.size()), .routine = true};
  if (bytes.starts_with('*')) return commands_in(bytes, owner);
  if (bytes.starts_with('$')) return {.text = fmt::format("snapshot, {} bytes", bytes.size())};
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  if (line.empty()) return {.text = "still here", .routine = true};
  return {.text = checker::printable(checker::shortened(line, 2 * kMostOfWord)),
          .routine = !line.starts_with("+FULLRESYNC") && !line.starts_with("+CONTINUE")};
}

std::string reply_text(const redis::Reply& reply, std::size_t depth, const OwnerOf& owner) {
  switch (reply.type) {
    case redis::Reply::Type::nil: return "nil";
    case redis::Reply::Type::integer: return std::to_string(reply.integer);
    case redis::Reply::Type::status: return checker::printable(checker::shortened(reply.text, kMostOfWord));
    case redis::Reply::Type::error:
      return "-" + checker::printable(checker::shortened(reply.text, 2 * kMostOfWord));
    case redis::Reply::Type::bulk: return word(reply.text, owner);
    case redis::Reply::Type::array: break;
  }
  if (depth == kDeepest) return "[...]";
  std::string text = "[";
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    if (i == kMostWords) return text + fmt::format(", {} more]", reply.items.size() - i);
    text += (i == 0 ? "" : ", ") + reply_text(reply.items[i], depth + 1, owner);
  }
  return text + "]";
}

}  // namespace

std::string short_request(const std::vector<std::string_view>& arguments, const OwnerOf& owner) {
  if (arguments.empty()) return "";
  const std::string command = upper_case(arguments.front());
  std::string text = checker::printable(checker::shortened(command, kMostOfWord));
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (i == kMostWords) return text + fmt::format(" +{}", arguments.size() - i);
    std::string_view name;
    if (i == 1 && command == "EVALSHA") name = script_of(arguments[1]);
    if ((i == 1 && command == "EVAL") || (i == 2 && command == "SCRIPT")) name = script_with(arguments[i]);
    const bool counts_keys = i == 2 && command.starts_with("EVAL");
    if (!counts_keys) text += " " + (name.empty() ? word(arguments[i], owner) : std::string(name));
  }
  return text;
}

std::string short_reply(const redis::Reply& reply, const OwnerOf& owner) {
  return reply_text(reply, 0, owner);
}

ShortForm short_form(const Passage& passage, const OwnerOf& owner) {
  if (passage.message == nullptr) return chunk_form(passage, owner);
  const Message& message = *passage.message;
  const bool routine = is_routine(message.command);
  if (message.reply != nullptr) return {.text = short_reply(*message.reply, owner), .routine = routine};
  if (message.command == "EXEC" && passage.bytes.starts_with('*') && message.arguments.size() == 1) {
    ShortForm whole = commands_in(passage.bytes, owner);  // a transaction is one message
    if (!whole.text.empty()) return whole;
  }
  return {.text = short_request(message.arguments, owner), .routine = routine};
}

}  // namespace holdfast::sim
