#include "sim/proxy/ledger.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

const redis::Reply kNoReply;

// The effects of a request that may be a whole transaction. `reply`: nullptr while it has not come.
std::vector<StoreEffect> effects_of(const LockKind& kind, const Message& message, std::string_view request,
                                    const redis::Reply* reply) {
  if (message.command != "EXEC") return kind.read_effects(message.arguments, reply ? *reply : kNoReply);
  std::vector<StoreEffect> effects;
  std::vector<std::string_view> command;
  std::size_t index = 0;
  bool queued = false;  // after MULTI
  while (!request.empty()) {
    const std::size_t size = parse_request(request, command);
    if (size == 0) break;
    request.remove_prefix(size);
    const bool multi = !command.empty() && upper_case(command.front()) == "MULTI";
    if (!queued || multi || request.empty()) {  // MULTI itself, EXEC itself
      queued = queued || multi;
      continue;
    }
    const bool has_reply = reply != nullptr && index < reply->items.size();
    for (StoreEffect& effect : kind.read_effects(command, has_reply ? reply->items[index] : kNoReply)) {
      if (reply != nullptr && !has_reply) effect.took_effect = false;  // the transaction was not executed
      effects.push_back(std::move(effect));
    }
    ++index;
  }
  return effects;
}

bool same(const StoreEffect& one, const StoreEffect& other) {
  return one.f == other.f && one.key == other.key && one.handed_over == other.handed_over &&
         (one.record == other.record || one.handed_over);
}

class Ledger {
 public:
  Ledger(const LockKind& kind, LedgerSink sink) : kind_(kind), sink_(std::move(sink)) {}

  void see(const Message& message) {
    if (message.exchange == 0) return;
    if (message.direction == Direction::request) {
      forwarded(message);
    } else {
      answered(message);
    }
  }

 private:
  struct Open {
    std::uint32_t slot;
    StoreEffect effect;
  };

  Open open(const Message& message, StoreEffect effect) {
    std::uint32_t slot = next_slot_;
    if (free_.empty()) {
      ++next_slot_;
    } else {
      slot = *free_.begin();
      free_.erase(free_.begin());
    }
    Open operation{slot, std::move(effect)};
    sink_({.answered = false,
           .slot = slot,
           .client = message.link.from,
           .node = message.link.to,
           .effect = operation.effect});
    return operation;
  }

  void close(const Message& message, Open& operation, bool took_effect, bool understood) {
    operation.effect.took_effect = took_effect;
    operation.effect.understood = understood;
    sink_({.answered = true,
           .slot = operation.slot,
           .client = message.link.from,
           .node = message.link.to,
           .effect = operation.effect});
    free_.insert(operation.slot);
  }

  void forwarded(const Message& message) {
    std::vector<Open> operations;
    for (StoreEffect& effect : effects_of(kind_, message, message.bytes, nullptr)) {
      operations.push_back(open(message, std::move(effect)));
    }
    if (!operations.empty()) open_.emplace(message.exchange, std::move(operations));
  }

  void answered(const Message& message) {
    std::vector<Open> operations;
    if (const auto it = open_.find(message.exchange); it != open_.end()) {
      operations = std::move(it->second);
      open_.erase(it);
    }
    std::vector<StoreEffect> effects = effects_of(kind_, message, message.request, message.reply);
    for (Open& operation : operations) {
      bool took_effect = false, understood = true, handed_over = false;
      std::erase_if(effects, [&](const StoreEffect& effect) {
        if (handed_over || !same(effect, operation.effect)) return false;
        handed_over = effect.handed_over;  // the first of those who have it now; the reply told the others
        operation.effect.record = effect.record;
        if (handed_over) {
          operation.effect.mode = effect.mode;
          operation.effect.permits = effect.permits;
        }
        took_effect = took_effect || effect.took_effect;
        understood = understood && effect.understood;
        return true;
      });
      close(message, operation, took_effect, understood);
    }
    for (StoreEffect& effect : effects) {  // what only the reply told
      const bool took_effect = effect.took_effect, understood = effect.understood;
      Open operation = open(message, std::move(effect));
      close(message, operation, took_effect, understood);
    }
  }

  const LockKind& kind_;
  LedgerSink sink_;
  std::map<std::uint64_t, std::vector<Open>> open_;  // by exchange
  std::set<std::uint32_t> free_;
  std::uint32_t next_slot_ = 0;
};

}  // namespace

MessageWatcher make_ledger(const LockKind& kind, LedgerSink sink) {
  return [ledger = std::make_shared<Ledger>(kind, std::move(sink))](const Message& message) {
    ledger->see(message);
  };
}

}  // namespace holdfast::sim
