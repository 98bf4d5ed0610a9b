// The ledger, kept in a recorder's history.
#include <memory>
#include <string>
#include <vector>

#include "checker/checks/truth.h"
#include "sim/client/recorder.h"
#include "sim/proxy/ledger.h"

namespace holdfast::sim {

namespace {

using checker::Symbol;

class Keeper {
 public:
  Keeper(const LockKind& kind, Recorder& recorder)
      : named_once_(kind.names_acquisitions), recorder_(recorder) {}

  void keep(const LedgerEntry& entry) {
    checker::History& history = recorder_.history();
    if (entry.slot >= open_.size()) open_.resize(entry.slot + 1);
    Operation& operation = open_[entry.slot];
    const StoreEffect& effect = entry.effect;
    // Which acquisition an operation is for is noted when it begins: later the client may have a newer one.
    // Where a lock was handed over, the reply names its new owner.
    if (effect.handed_over) {
      operation.id = entry.answered ? recorder_.acquisition(effect.record) : 0;
    } else if (!entry.answered) {
      if (!effect.of_process.empty()) recorder_.stands_for(effect.of_process, entry.client);
      ClientRecorder& client = recorder_.client(std::string(entry.client));
      operation.id = effect.record.empty() ? client.last_acquisition(effect.key)
                     : !named_once_ && (effect.f == checker::Function::store_grant || effect.shared_record)
                         ? client.asked_acquisition(effect.record)
                         : client.acquisition(effect.record);
    }
    checker::Event event;
    event.type = !entry.answered     ? checker::EventType::invoke
                 : effect.understood ? checker::EventType::ok
                                     : checker::EventType::info;
    event.f = effect.f;
    if (!entry.answered) {
      if (operation.process == 0) operation.process = history.intern("ledger/" + std::to_string(entry.slot));
      operation.key = history.intern(effect.key);
      operation.owner = history.intern(entry.client);
      operation.node = history.intern(entry.node);
    }
    event.process = operation.process;
    event.key = operation.key;
    event.id = operation.id;
    event.owner = operation.owner;
    event.node = operation.node;
    event.mode = history.intern(effect.mode);
    if (effect.record.empty() && !effect.handed_over) event.mode = history.intern(checker::kOfItsClient);
    event.permits = effect.permits;
    if (event.type == checker::EventType::ok) event.value = checker::Value(effect.took_effect ? 1 : 0);
    if (effect.shared_record && !entry.answered)
      event.value = checker::Value(checker::Value::Kind::text, history.intern(effect.record));
    recorder_.append(event);
  }

 private:
  // What was told of it when it began; the place is used again for the next one of that slot.
  struct Operation {
    Symbol id = 0, process = 0, key = 0, owner = 0, node = 0;
  };

  const bool named_once_;
  Recorder& recorder_;
  std::vector<Operation> open_;  // by slot
};

}  // namespace

void keep_ledger(Proxy& proxy, const LockKind& kind, Recorder& recorder) {
  if (kind.read_effects == nullptr) return;
  auto keeper = std::make_shared<Keeper>(kind, recorder);
  proxy.watch(make_ledger(kind, [keeper](const LedgerEntry& entry) { keeper->keep(entry); }),
              [](const Message&) { return false; });
}

}  // namespace holdfast::sim
