#include "tools/proxy/http.h"

#include <array>
#include <boost/beast/http.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::tools {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::uint64_t kLongestBody = 1 << 20;
constexpr std::uint32_t kLongestHeader = 16 * 1024;
constexpr std::uint64_t kLongestAnswer = 64 << 20;
constexpr Duration kPatience = std::chrono::minutes(1);

bool send(Stream& stream, Runtime& runtime, Response& response) {
  response.prepare_payload();
  std::ostringstream text;
  text << response;
  return stream.write(text.str(), deadline_after(runtime.now(), kPatience)).ok();
}

// False: the connection is over. `ahead`: what was read and belongs to the next request.
bool serve_one(Stream& stream, Runtime& runtime, std::string& ahead, const HttpHandler& handler) {
  Parser parser;
  parser.eager(true);
  parser.body_limit(kLongestBody);
  parser.header_limit(kLongestHeader);
  bool greeted = false;
  std::array<char, 4096> buffer;
  while (!parser.is_done()) {
    boost::beast::error_code error;
    const std::size_t used = ahead.empty() ? 0 : parser.put(boost::asio::buffer(ahead), error);
    ahead.erase(0, used);
    if (error && error != http::error::need_more) {
      Response bad(http::status::bad_request, 11, "the request is not HTTP: " + error.message() + "\n");
      bad.keep_alive(false);
      return send(stream, runtime, bad), false;
    }
    if (parser.is_done()) break;
    if (parser.is_header_done() && !std::exchange(greeted, true) &&
        parser.get()[http::field::expect] == "100-continue" &&
        !stream.write("HTTP/1.1 100 Continue\r\n\r\n", deadline_after(runtime.now(), kPatience)).ok()) {
      return false;
    }
    if (!ahead.empty() && used > 0) continue;
    const IoResult got = stream.read(buffer, deadline_after(runtime.now(), kPatience));
    if (!got.ok()) return false;
    ahead.append(buffer.data(), got.bytes);
  }
  const auto& asked = parser.get();
  HttpAnswer answer;
  try {
    answer = handler({.method = std::string(asked.method_string()),
                      .target = std::string(asked.target()),
                      .user_agent = std::string(asked[http::field::user_agent]),
                      .body = asked.body()});
  } catch (const std::exception& error) {
    answer = {.status = 500, .type = "text/plain", .body = std::string(error.what()) + "\n"};
  }
  Response response(static_cast<http::status>(answer.status), asked.version());
  if (answer.status != 204) response.set(http::field::content_type, answer.type);
  response.keep_alive(asked.keep_alive());
  response.body() = std::move(answer.body);
  return send(stream, runtime, response) && asked.keep_alive();
}

}  // namespace

HttpAnswer ask_http(Runtime& runtime, Network& network, const Endpoint& at, const std::string& method,
                    const std::string& target) {
  const MonotonicTime deadline = deadline_after(runtime.now(), kPatience);
  const Connected made = network.connect(at, deadline);
  if (made.status != IoStatus::ok) throw std::runtime_error("nothing listens there");
  const std::string request =
      method + " " + target + " HTTP/1.1\r\nHost: " + at.to_string() + "\r\nConnection: close\r\n\r\n";
  if (!made.stream->write(request, deadline).ok()) throw std::runtime_error("it closes the connection");
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(kLongestAnswer);
  std::string ahead;
  std::array<char, 16384> buffer;
  boost::beast::error_code error;
  while (!parser.is_done()) {
    const IoResult got = made.stream->read(buffer, deadline);
    if (got.status == IoStatus::eof) parser.put_eof(error);
    if (error || (!got.ok() && !parser.is_done()))
      throw std::runtime_error("its answer is no HTTP, or is cut");
    ahead.append(buffer.data(), got.bytes);
    for (std::size_t used = 1; used > 0 && !ahead.empty() && !parser.is_done(); ahead.erase(0, used)) {
      used = parser.put(boost::asio::buffer(ahead), error);
      if (error == http::error::need_more) error = {};
      if (error) throw std::runtime_error("its answer is no HTTP");
    }
  }
  const auto& answer = parser.get();
  return {.status = static_cast<int>(answer.result_int()),
          .type = std::string(answer[http::field::content_type]),
          .body = answer.body()};
}

void serve_http(sim::Process& process, Listener& listener, HttpHandler handler) {
  const auto shared = std::make_shared<const HttpHandler>(std::move(handler));
  for (;;) {
    Connected guest = listener.accept(kNever);
    if (guest.status == IoStatus::closed) return;
    if (guest.status != IoStatus::ok) continue;
    process.start("http", [&process, shared, stream = std::shared_ptr<Stream>(std::move(guest.stream))] {
      std::string ahead;
      while (serve_one(*stream, process.runtime(), ahead, *shared)) {
      }
      stream->close();
    });
  }
}

}  // namespace holdfast::tools
