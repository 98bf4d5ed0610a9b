#include "sim/client/stock_server.h"

#include "lib/runtime/check.h"

namespace holdfast::sim {

std::string StockServer::answer(std::string_view request) {
  const std::string_view verb = request.substr(0, 3);
  request.remove_prefix(verb.size());
  const auto first = take_number(request);
  const bool shows_token = verb == "PUT" || (verb == "GET" && first);
  if (shows_token && first) {
    if (*first < newest_) return "STALE " + std::to_string(newest_);
    newest_ = *first;
  }
  if (verb == "GET") return std::to_string(units_);
  if (verb == "SET" && first) {
    units_ = *first;
    return "OK";
  }
  const auto second = take_number(request);
  if (verb == "PUT" && first && second) {
    units_ = *second;
    return "OK";
  }
  if (verb == "CAS" && first && second) {
    if (units_ != *first) return "CONFLICT " + std::to_string(units_);
    units_ = *second;
    return "OK";
  }
  return "ERROR unknown request";
}

StockClient::Outcome StockClient::read(std::int64_t& units, std::optional<std::int64_t> token) {
  bool sent = false;
  const auto line = line_.ask(token ? "GET " + std::to_string(*token) : "GET", sent);
  if (!line) return Outcome::unknown;
  if (line->starts_with("STALE")) return Outcome::stale;
  std::string_view text = *line;
  const auto number = take_number(text);
  HF_CHECK(number.has_value(), "the stock answers with a number");
  units = *number;
  return Outcome::ok;
}

StockClient::Outcome StockClient::change(const std::string& request) {
  bool sent = false;
  const auto line = line_.ask(request, sent);
  if (!line) return sent ? Outcome::unknown : Outcome::failed;
  if (*line == "OK") return Outcome::ok;
  if (line->starts_with("STALE")) return Outcome::stale;
  HF_CHECK(line->starts_with("CONFLICT"), "the stock knows our requests");
  return Outcome::conflict;
}

StockClient::Outcome StockClient::write(std::int64_t units) { return change("SET " + std::to_string(units)); }

StockClient::Outcome StockClient::write_with_token(std::int64_t units, std::int64_t token) {
  return change("PUT " + std::to_string(token) + " " + std::to_string(units));
}

StockClient::Outcome StockClient::compare_and_set(std::int64_t expected, std::int64_t units) {
  return change("CAS " + std::to_string(expected) + " " + std::to_string(units));
}

}  // namespace holdfast::sim
