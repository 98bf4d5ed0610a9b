#include "lib/redis/command.h"

#include <algorithm>
#include <charconv>

#include "lib/runtime/check.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t kLongestHeader = 1 + 20 + 2;

char* put_header(char* to, char type, std::size_t number) {
  *to++ = type;
  to = std::to_chars(to, to + 20, number).ptr;
  *to++ = '\r';
  *to++ = '\n';
  return to;
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
  std::size_t most = kLongestHeader;
  for (const Arguments& part : command.parts) {
    for (const std::string_view argument : part) most += kLongestHeader + argument.size() + 2;
  }
  const std::size_t before = out.size();
  out.resize(before + most);
  char* to = put_header(out.data() + before, '*', count);
  for (const Arguments& part : command.parts) {
    for (const std::string_view argument : part) {
      to = put_header(to, '$', argument.size());
      to = std::copy(argument.begin(), argument.end(), to);
      *to++ = '\r';
      *to++ = '\n';
    }
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

}  // namespace holdfast::redis
