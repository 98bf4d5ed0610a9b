// Asking Sentinels where the primary is.
//
// One Sentinel alone may have been cut off from the others and still name the old primary. So as many as make
// more than half of them are asked beside each other, and others in the place of those that have no answer;
// the address of the newest configuration (`config-epoch`) wins. Where fewer can be reached, the best of
// their answers has to do: a Sentinel answers for all, as its documentation for clients says, and the server
// that it names is asked for its ROLE.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

struct SentinelAnswer {
  std::optional<Endpoint> primary = std::nullopt;
  std::string why_not = {};  // one reason per Sentinel that had no answer
  // As Found::hopeless: unauthorized, protocol or unsupported when one of them says so and none has an
  // answer; unreachable when nobody listens at any address, or all that answer know no such primary.
  std::optional<Error::Kind> hopeless = std::nullopt;
  std::string code = {}, hopeless_node = {};
};

// [parks] Asks each Sentinel once at most, each within options.connect_timeout, beginning with `first`
// (nullopt: with any); none any more once `ended`.
SentinelAnswer ask_sentinels(Runtime& runtime, Network& network, const ClientOptions& options,
                             std::optional<std::size_t> first, const std::atomic<bool>& ended);

}  // namespace holdfast::redis
