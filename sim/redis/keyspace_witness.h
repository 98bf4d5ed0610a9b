// KeyspaceWitness: is told what changes in a server's database 0, so that what stands there can be compared
// with what clients believe. Without one an engine does nothing for it.
#pragma once

#include <string_view>

namespace holdfast::sim::embedded {

class Engine;

class KeyspaceWitness {
 public:
  enum class Cause {
    command,     // of a client, a script or transaction as a whole
    replicated,  // the primary's stream
    expired      // found past its expiry
  };

  virtual ~KeyspaceWitness() = default;
  // `key` was written, removed or given another expiry: read what stands now. On the server's task, which
  // must not park, and nothing may be changed. A key may be told without a change.
  virtual void changed(Engine& engine, std::string_view key, Cause cause) = 0;
  // Whatever stood before: what stands now is all. After a start, FLUSHALL, SWAPDB, a full synchronisation.
  virtual void loaded(Engine& engine) = 0;
};

}  // namespace holdfast::sim::embedded
