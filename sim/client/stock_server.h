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
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/client/line_server.h"

namespace holdfast::sim {

class StockServer final : public LineServer {
 public:
  // [parks] Starts the process "stock" and returns when it listens. REQUIRES: on a task of the harness.
  StockServer(World& world, std::int64_t units) : LineServer(world, "stock"), units_(units) {}

  std::int64_t units() const { return units_; }

 private:
  std::string answer(std::string_view request) override;

  std::int64_t units_;
  std::int64_t newest_ = 0;  // token
};

// One task's connection to the stock. Not shared.
class StockClient {
 public:
  enum class Outcome { ok, conflict, stale, failed, unknown };  // failed: certainly without effect

  StockClient(Process& process, Endpoint stock, Duration timeout)
      : line_(process, std::move(stock), timeout) {}

  // [parks] ok: `units` is what there is. With a token: or stale. Else unknown.
  Outcome read(std::int64_t& units, std::optional<std::int64_t> token = std::nullopt);
  Outcome write(std::int64_t units);                                   // [parks]
  Outcome write_with_token(std::int64_t units, std::int64_t token);    // [parks]
  Outcome compare_and_set(std::int64_t expected, std::int64_t units);  // [parks]

 private:
  Outcome change(const std::string& request);

  LineClient line_;
};

}  // namespace holdfast::sim
