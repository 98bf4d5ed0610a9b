#include "lib/net/network.h"

namespace holdfast {

std::string Endpoint::to_string() const {
  if (port == 0 && !host.empty() && host.front() == '/') return "unix:" + host;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string_view to_string(IoStatus status) {
  switch (status) {
    case IoStatus::ok: return "ok";
    case IoStatus::eof: return "connection closed by the peer";
    case IoStatus::timed_out: return "timed out";
    case IoStatus::refused: return "connection refused";
    case IoStatus::unreachable: return "host unreachable";
    case IoStatus::reset: return "connection reset";
    case IoStatus::closed: return "connection closed here";
    case IoStatus::untrusted: return "no connection that can be trusted";
  }
  return "?";
}

std::string describe(IoStatus status, std::string_view more) {
  if (status == IoStatus::untrusted && !more.empty()) return std::string(more);
  return std::string(to_string(status)) + (more.empty() ? "" : " " + std::string(more));
}

}  // namespace holdfast
