// A question: a few commands on a connection of their own, and their replies. How a client asks Sentinels and
// the nodes of a Cluster for the way.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/redis/error.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

class Question {
 public:
  void add(std::initializer_list<std::string_view> command);
  // AUTH, unless `password` is empty. Whether it was refused stands in Answered::logged_in.
  void log_in(std::string_view user, std::string_view password);

  struct Answered {
    std::vector<Reply> replies = {};             // one for each add(); none: see why_not
    std::optional<Reply> log_in = std::nullopt;  // to AUTH
    std::string why_not = {};                    // "": answered
    std::optional<Error::Kind> hopeless = {};    // unreachable (nobody listens), protocol (no RESP),
                                                 // untrusted
  };
  // [parks] Connects, asks and hears all replies, by `deadline`.
  Answered ask(Runtime& runtime, Network& network, const Endpoint& of, MonotonicTime deadline,
               const ClientOptions& options) const;

 private:
  std::string bytes_;
  std::size_t awaited_ = 0;
  bool logs_in_ = false;
};

}  // namespace holdfast::redis
