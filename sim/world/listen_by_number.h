// A listener at a free port that was asked for by its number.
#pragma once

#include <memory>

#include "lib/net/network.h"

namespace holdfast::sim {

// As network.listen(at). Port 0: a free one is chosen, given back, and asked for by its number; when somebody
// else has taken it in between, another one is chosen, 20 times at most.
std::unique_ptr<Listener> listen_by_number(Network& network, const Endpoint& at);

}  // namespace holdfast::sim
