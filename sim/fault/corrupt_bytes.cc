// corrupt-bytes: bytes of a reply, or of a request, are damaged on the way, so that it is no RESP any more:
// its type, a length or number, or its end. Whoever reads it cannot know what was meant. A client should drop
// that connection, and take nothing for granted; a server answers a damaged request by one error, does not
// execute it, and closes the connection. Healing: later messages pass unharmed.
//
// What stands inside a value is left alone: whether that was damaged, nobody can see in RESP (TCP has its
// checksums, TLS has better ones). A request keeps its first byte, too: a server reads what does not begin
// with `*` as commands in plain text, one a line, and answers each of its lines.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

enum class Place { type, length, end };

// Of the first line that has a length or a number; none: npos.
std::size_t first_number(const std::string& bytes) {
  if (std::string_view("+-_#").find(bytes.front()) != std::string_view::npos) return std::string::npos;
  return bytes.size() > 1 && bytes[1] == '-' ? 2 : 1;
}

std::string damaged_reply(std::string bytes, Place place) {
  const std::size_t number = first_number(bytes);
  if (place == Place::type) {
    bytes.front() = '?';
  } else if (place == Place::length && number < bytes.size()) {
    bytes[number] = 'x';
  } else {
    bytes.back() = '?';
  }
  return bytes;
}

std::string damaged_request(std::string bytes, Place place) {
  const std::size_t type = bytes.find('$');
  if (place == Place::type && type != std::string::npos) {
    bytes[type] = '?';
  } else {
    bytes[1] = 'x';
  }
  return bytes;
}

class CorruptBytes {
 public:
  CorruptBytes(const std::string& where, bool reply) : reply_(reply) {
    if (where == "type" || where.empty()) places_.push_back(Place::type);
    if (where == "length" || where.empty()) places_.push_back(Place::length);
    if (where == "end" || (where.empty() && reply)) places_.push_back(Place::end);
  }

  Action operator()(const Message& message, Rng& rng) const {
    const Place place = places_[rng.between(0, places_.size() - 1)];
    std::string bytes(message.bytes);
    bytes = reply_ ? damaged_reply(std::move(bytes), place) : damaged_request(std::move(bytes), place);
    return {.instead = std::make_shared<const std::string>(std::move(bytes))};
  }

 private:
  const bool reply_;
  std::vector<Place> places_;
};

bool of_request(const FaultConfig& config) { return text_of(config, "of", "reply") == "request"; }

}  // namespace

FaultKind corrupt_bytes_fault() {
  FaultKind kind{.name = "corrupt-bytes",
                 .about = "bytes of replies or requests are damaged: what arrives is not RESP"};
  kind.keys = command_keys();
  kind.keys.push_back({"of",
                       FaultKey::Type::text,
                       false,
                       "what is damaged: a reply (the default), or a request",
                       {"reply", "request"}});
  kind.keys.push_back({"where",
                       FaultKey::Type::text,
                       false,
                       "its type, a length or number, or the end of a reply (default: drawn for each)",
                       {"type", "length", "end"}});
  kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    const bool request = of_request(config);
    const auto matches = [named = command_matcher(config)](const Message& message) {
      return message.bytes.size() > 2 && (message.direction == Direction::reply || message.bytes[0] == '*') &&
             named(message);
    };
    return std::make_unique<MessageFault>(config, request ? Direction::request : Direction::reply,
                                          CorruptBytes(text_of(config, "where"), !request), matches);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    if (std::string problem = one_probability(config); !problem.empty()) return problem;
    return of_request(config) && text_of(config, "where") == "end"
               ? "`where` of \"type\" or \"length\": servers do not look at the end of a request"
               : "";
  };
  return kind;
}

}  // namespace holdfast::sim
