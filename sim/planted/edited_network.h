// EditedNetwork: a network on which scripts become other scripts on their way out. A client asks for a script
// by its digest (EVALSHA) or sends its text (EVAL); here the digest and the text of the edited one leave.
//
// Thread safety: as Network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/script.h"

namespace holdfast::sim {

// A script and what runs in its place.
struct EditedScript {
  const redis::Script* script = nullptr;
  std::string text, sha1;
};

class EditedNetwork final : public Network {
 public:
  // Both outlive it.
  EditedNetwork(Network& network, const std::vector<EditedScript>& scripts);
  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  std::unique_ptr<Listener> listen(const Endpoint& at) override { return network_.listen(at); }

 private:
  Network& network_;
  const std::vector<EditedScript>& scripts_;
};

}  // namespace holdfast::sim
