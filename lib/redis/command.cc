#include "command.h"

#include <charconv>

#include "../runtime/check.h"

namespace holdfast::redis {
namespace {

void append_header(std::string& out, char type, std::size_t number) {
  char text[24];
  text[0] = type;
  char* const end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(text, static_cast<std::size_t>(end + 2 - text));
}

}  // namespace

std::string_view CommandView::name() const noexcept {
  for (const Arguments& part : parts) {
    if (!part.empty()) return part.front();
  }
  return {};
}

void append_command(std::string& out, const CommandView& command) {
  const std::size_t count = command.size();
  HF_CHECK(count > 0, "a command has at least a name");
  append_header(out, '*', count);
  for (const Arguments& part : command.parts) {
    for (const std::string_view argument : part) {
      append_header(out, '$', argument.size());
      out.append(argument);
      out.append("\r\n", 2);
    }
  }
}

}  // namespace holdfast::redis
