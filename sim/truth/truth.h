// Truth: writes into a run's history what stands in the servers' keyspaces at each instant, for the check
// `truth`. Embedded servers only; a run that does not ask for the check has none of this.
//
// The events: checker/checks/truth.h.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/client/recorder.h"
#include "sim/redis/keyspace_witness.h"
#include "sim/truth/decoders.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Truth {
 public:
  // `decoder` outlives it. `quorum`: the lock lives on a majority of the nodes, and not on any one of them.
  Truth(World& world, const Decoder& decoder, bool quorum);
  ~Truth();

  // Of the server of that name; the same for all its incarnations. Good as long as this object.
  embedded::KeyspaceWitness* witness(const std::string& node);
  // From now on into the history of `recorder`, which outlives it; what stands already comes first.
  void keep(Recorder& recorder);

 private:
  class NodeWitness;
  World& world_;
  const Decoder& decoder_;
  const bool quorum_;
  Recorder* recorder_ = nullptr;
  std::map<std::string, std::unique_ptr<NodeWitness>> nodes_;
};

}  // namespace holdfast::sim
