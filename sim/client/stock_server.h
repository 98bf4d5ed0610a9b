// Stock: the protected resource of `seckill`, a process of its own outside the Redis under test, so that no
// failover can roll it back. One line per request, one per answer, over the Network port:
//
//   GET              -> <units>
//   SET <units>      -> OK
//   CAS <old> <new>  -> OK | CONFLICT <units>
//   GET <token>          -> <units> | STALE <newest>
//   PUT <token> <units>  -> OK | STALE <newest>
//
// A fencing token below the newest that was shown here is refused; reading with one shows it, too, so that no
// older holder can write what a newer one has not seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class StockServer {
 public:
  // [parks] Starts the process "stock" and returns when it listens. REQUIRES: on a task of the harness.
  StockServer(World& world, std::int64_t units);

  Endpoint endpoint() const { return endpoint_; }
  std::int64_t units() const { return units_; }

 private:
  void serve(Listener& listener);
  void converse(Stream& stream);
  std::string answer(std::string_view request);

  Process& process_;
  Endpoint endpoint_;
  std::int64_t units_;
  std::int64_t newest_ = 0;  // token
};

// One task's connection to the stock. Not shared.
class StockClient {
 public:
  enum class Outcome { ok, conflict, stale, failed, unknown };  // failed: certainly without effect

  StockClient(Process& process, Endpoint stock, Duration timeout);

  // [parks] ok: `units` is what there is. With a token: or stale. Else unknown.
  Outcome read(std::int64_t& units, std::optional<std::int64_t> token = std::nullopt);
  Outcome write(std::int64_t units);                                   // [parks]
  Outcome write_with_token(std::int64_t units, std::int64_t token);    // [parks]
  Outcome compare_and_set(std::int64_t expected, std::int64_t units);  // [parks]

 private:
  // [parks] The answer's line. Sets `sent` when the request may have been received.
  std::optional<std::string> ask(const std::string& request, bool& sent);
  Outcome change(const std::string& request);

  Process& process_;
  const Endpoint stock_;
  const Duration timeout_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace holdfast::sim
