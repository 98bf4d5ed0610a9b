// Requests to the embedded Redis, as bytes of one connection: it answers or closes.
#include "sim/redis/testing/local_server.h"
#include "tools/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace embedded = holdfast::sim::embedded;
  embedded::RequestParser parser;
  std::vector<std::string_view> arguments;
  std::size_t at = 0;
  const std::string_view bytes = holdfast::fuzz::text_of(data, size);
  while (at < bytes.size() &&
         parser.parse(bytes, at, arguments) == embedded::RequestParser::Status::complete) {
  }
  embedded::LocalServer server;
  embedded::Session& session = server.session(1);
  session.in = bytes;
  server.engine.process(session);
  server.pass(std::chrono::seconds(1));
  return 0;
}
