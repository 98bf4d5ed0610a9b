#include "sim/comparators/etcd/http.h"

#include <array>
#include <boost/beast/http.hpp>
#include <sstream>
#include <utility>

namespace holdfast::sim::etcd {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t kLongestBody = 16 << 20;  // of an answer that is kept whole
constexpr std::size_t kLongestLine = 1 << 20;

}  // namespace

HttpConnection::HttpConnection(Runtime& runtime, Network& network, const Endpoint& at, MonotonicTime deadline,
                               const std::stop_token& stop)
    : runtime_(runtime), host_(at.to_string()) {
  Connected connected = network.connect(at, deadline);
  if (connected.status != IoStatus::ok || stop.stop_requested())
    throw NoAnswer("no connection: " + describe(connected.status, connected.why), false);
  stream_ = std::move(connected.stream);
  open_ = true;
}

void HttpConnection::break_off() noexcept {
  open_ = false;
  if (stream_) stream_->reset();
}

HttpAnswer HttpConnection::post(std::string_view target, std::string_view body, MonotonicTime deadline,
                                const std::stop_token& stop) {
  std::string whole;
  HttpAnswer answer = exchange(target, body, deadline, stop, [&whole](std::string& part) {
    whole += std::exchange(part, {});
    if (whole.size() > kLongestBody) throw NoAnswer("the answer is too long", true);
    return true;
  });
  answer.body = std::move(whole);
  return answer;
}

void HttpConnection::post_and_listen(std::string_view target, std::string_view body, MonotonicTime deadline,
                                     const std::stop_token& stop,
                                     const std::function<bool(std::string_view line)>& line) {
  std::string pending;
  exchange(target, body, deadline, stop, [&](std::string& part) {
    pending += std::exchange(part, {});
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      if (!line(std::string_view(pending).substr(0, end))) return false;
    }
    if (pending.size() > kLongestLine) throw NoAnswer("a line of the answer is too long", true);
    return true;
  });
}

HttpAnswer HttpConnection::exchange(std::string_view target, std::string_view body, MonotonicTime deadline,
                                    const std::stop_token& stop, const Part& part) {
  if (!open_) throw NoAnswer("the connection was broken off", false);
  struct Whole {  // or it is broken off, also when this task is cancelled
    HttpConnection& connection;
    bool done = false;
    ~Whole() {
      if (!done) connection.break_off();
    }
  } whole{*this};
  const std::stop_callback cut(stop, [this] { break_off(); });
  http::request<http::string_body> request(http::verb::post, {target.data(), target.size()}, 11);
  request.set(http::field::host, host_);
  request.set(http::field::content_type, "application/json");
  request.set("Grpc-Metadata-hasleader", "true");  // a server that has no leader says so
  request.body() = body;
  request.prepare_payload();
  std::ostringstream text;
  text << request;
  if (const IoResult sent = stream_->write(text.str(), deadline); !sent.ok())
    throw NoAnswer("not sent: " + describe(sent.status, stream_->trouble()), sent.bytes > 0);
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(boost::none);  // `part` takes what came
  std::array<char, 8192> buffer;
  while (!parser.is_done()) {
    boost::beast::error_code error;
    std::size_t used = 0;
    if (!ahead_.empty()) used = parser.put(boost::asio::buffer(ahead_), error);
    ahead_.erase(0, used);
    if (error && error != http::error::need_more) throw NoAnswer("no HTTP: " + error.message(), true);
    if (parser.is_header_done() && !part(parser.get().body()))
      return {.status = parser.get().result_int(), .body = {}};
    if (parser.is_done()) break;
    if (used > 0 && !ahead_.empty()) continue;
    const IoResult got = stream_->read(buffer, deadline);
    if (!got.ok()) throw NoAnswer("no answer: " + describe(got.status, stream_->trouble()), true);
    ahead_.append(buffer.data(), got.bytes);
  }
  whole.done = open_;
  if (!parser.get().keep_alive()) break_off();
  return {.status = parser.get().result_int(), .body = {}};
}

}  // namespace holdfast::sim::etcd
