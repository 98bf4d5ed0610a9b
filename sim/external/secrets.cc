#include "sim/external/secrets.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::sim {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::size_t kShortest = 4;  // what is shorter stands in any text

bool names_a_secret(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper == "PWD" || upper == "OLDPWD") return false;  // folders
  constexpr std::string_view kWords[] = {"PASS", "PWD",    "SECRET",     "TOKEN",   "CREDENTIAL",
                                         "AUTH", "APIKEY", "ACCESS_KEY", "API_KEY", "PRIVATE"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return upper.find(word) != upper.npos; });
}

struct Span {
  std::size_t begin = 0, size = 0;
};

// The password of the first URL from `from` on: what stands between the first colon and the last @ of
// SCHEME://USER:PASSWORD@HOST.
std::optional<Span> password_in_url(std::string_view text, std::size_t from) {
  for (std::size_t at; (at = text.find("://", from)) != text.npos; from = at + 3) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", at + 3), text.size());
    const std::string_view rest = text.substr(at + 3, end - at - 3);
    const std::size_t slash = rest.find('/');
    // A password may have a slash in it; a path may have an @.
    std::size_t host = rest.substr(0, slash).rfind('@');
    if (host == rest.npos) host = rest.find('@');
    const std::size_t colon = rest.find(':');
    if (host == rest.npos || colon == rest.npos || colon + 1 >= host) continue;
    if (slash < colon) continue;
    return Span{at + 3 + colon + 1, host - colon - 1};
  }
  return std::nullopt;
}

std::string decoded(std::string_view text) {
  const auto digit = [](char c) -> int {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    plain += coded ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (coded) i += 2;
  }
  return plain;
}

}  // namespace

void Secrets::add(std::string secret) {
  if (secret.size() < kShortest || std::ranges::find(all_, secret) != all_.end()) return;
  all_.push_back(std::move(secret));
  std::ranges::stable_sort(all_, std::ranges::greater(), &std::string::size);
}

void Secrets::learn(std::string_view name, std::string_view value) {
  if (names_a_secret(name)) add(std::string(value));
  std::size_t from = 0;
  while (const auto found = password_in_url(value, from)) {
    const std::string_view password = value.substr(found->begin, found->size);
    add(std::string(password));
    add(decoded(password));
    from = found->begin + found->size;
  }
}

std::string Secrets::masked(std::string text) const {
  for (const std::string& secret : all_) {
    for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos; at += kMask.size())
      text.replace(at, secret.size(), kMask);
  }
  std::size_t from = 0;
  while (const auto found = password_in_url(text, from)) {
    text.replace(found->begin, found->size, kMask);
    from = found->begin + kMask.size();
  }
  return text;
}

}  // namespace holdfast::sim
