// The ledger, kept in a recorder's history.
#include <memory>
#include <string>
#include <vector>

#include "checker/checks/truth.h"
#include "sim/client/recorder.h"
#include "sim/proxy/ledger.h"

namespace holdfast::sim {

void keep_ledger(Proxy& proxy, const LockKind& kind, Recorder& recorder) {
  if (kind.read_effects == nullptr) return;
  // Which acquisition an operation is for is noted when it begins: later the client may have a newer one.
  // Where a lock was handed over, the reply names its new owner.
  auto ids = std::make_shared<std::vector<checker::Symbol>>();
  proxy.watch(
      make_ledger(kind,
                  [&recorder, ids](const LedgerEntry& entry) {
                    checker::History& history = recorder.history();
                    if (entry.slot >= ids->size()) ids->resize(entry.slot + 1);
                    checker::Symbol& id = (*ids)[entry.slot];
                    if (entry.effect.handed_over) {
                      id = entry.answered ? recorder.acquisition(entry.effect.record) : 0;
                    } else if (!entry.answered) {
                      if (!entry.effect.of_process.empty())
                        recorder.stands_for(entry.effect.of_process, entry.client);
                      ClientRecorder& client = recorder.client(std::string(entry.client));
                      const std::string& record = entry.effect.record;
                      id = record.empty() ? client.last_acquisition(entry.effect.key)
                           : entry.effect.f == checker::Function::store_grant || entry.effect.shared_record
                               ? client.asked_acquisition(record)
                               : client.acquisition(record);
                    }
                    checker::Event event;
                    event.type = !entry.answered           ? checker::EventType::invoke
                                 : entry.effect.understood ? checker::EventType::ok
                                                           : checker::EventType::info;
                    event.f = entry.effect.f;
                    event.process = history.intern("ledger/" + std::to_string(entry.slot));
                    event.key = history.intern(entry.effect.key);
                    event.id = id;
                    event.owner = history.intern(entry.client);
                    event.node = history.intern(entry.node);
                    event.mode = history.intern(entry.effect.mode);
                    if (entry.effect.record.empty() && !entry.effect.handed_over)
                      event.mode = history.intern(checker::kOfItsClient);
                    event.permits = entry.effect.permits;
                    if (event.type == checker::EventType::ok)
                      event.value = checker::Value(entry.effect.took_effect ? 1 : 0);
                    if (entry.effect.shared_record && !entry.answered)
                      event.value =
                          checker::Value(checker::Value::Kind::text, history.intern(entry.effect.record));
                    recorder.append(event);
                  }),
      [](const Message&) { return false; });
}

}  // namespace holdfast::sim
