// Ledger: what commands did to the servers' records of a lock, read off the wire. The check
// no-foreign-release judges by it.
//
// Each effect of a command is an operation of its own in the history: `invoke` when the command reaches the
// proxy on its way to the server, `ok` when its reply does on its way back (value 1: it had the effect, 0: it
// had none), `info` when the reply does not say which; the effect took place between the two. A command whose
// reply never comes leaves an open operation. Operations have processes named "ledger/0",
// "ledger/1", ...: the lowest number that has nothing open.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "sim/client/lock_kind.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {

class Recorder;

struct LedgerEntry {
  bool answered = false;   // false: forwarded (invoke), true: its reply was seen (ok or info)
  std::uint32_t slot = 0;  // of the operation: the N of "ledger/N"
  std::string_view client, node;
  const StoreEffect& effect;  // took_effect counts when answered
};
using LedgerSink = std::function<void(const LedgerEntry& entry)>;

// For Proxy::watch(). Reads what LockKind::read_effects says of a command, before its reply (a nil reply
// stands for it) and with it.
MessageWatcher make_ledger(const LockKind& kind, LedgerSink sink);

// Keeps the ledger of all client links in the recorder's history. `kind` and `recorder` outlive the proxy's
// traffic.
void keep_ledger(Proxy& proxy, const LockKind& kind, Recorder& recorder);

}  // namespace holdfast::sim
