#include "sim/proxy/ledger.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/proxy/transaction.h"

namespace holdfast::sim {
namespace {

const redis::Reply kNoReply;

// The effects of a request that may be a whole transaction. `reply`: nullptr while it has not come.
std::vector<StoreEffect> effects_of(const LockKind& kind, const Message& message, std::string_view request,
                                    const redis::Reply* reply) {
  if (message.command != "EXEC") return kind.read_effects(message.arguments, reply ? *reply : kNoReply);
  std::vector<StoreEffect> effects;
  each_queued(request, [&](const std::vector<std::string_view>& command, std::size_t index) {
    const bool has_reply = reply != nullptr && index < reply->items.size();
    for (StoreEffect& effect : kind.read_effects(command, has_reply ? reply->items[index] : kNoReply)) {
      if (reply != nullptr && !has_reply) effect.took_effect = false;  // the transaction was not executed
      effects.push_back(std::move(effect));
    }
  });
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
  using ByExchange = std::unordered_map<std::uint64_t, std::vector<Open>>;
  using Opened = ByExchange::node_type;

  Open open(const Message& message, StoreEffect effect) {
    std::uint32_t slot = next_slot_;
    if (free_.empty()) {
      ++next_slot_;
    } else {
      std::pop_heap(free_.begin(), free_.end(), std::greater<>());
      slot = free_.back();
      free_.pop_back();
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
    free_.push_back(operation.slot);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }

  void forwarded(const Message& message) {
    std::vector<StoreEffect> effects = effects_of(kind_, message, message.bytes, nullptr);
    if (effects.empty()) return;
    if (spare_.empty()) {
      open_.try_emplace(message.exchange);
    } else {
      spare_.key() = message.exchange;
      open_.insert(std::move(spare_));
    }
    std::vector<Open>& operations = open_.at(message.exchange);
    for (StoreEffect& effect : effects) operations.push_back(open(message, std::move(effect)));
  }

  void answered(const Message& message) {
    Opened of_it;
    if (const auto it = open_.find(message.exchange); it != open_.end()) of_it = open_.extract(it);
    std::vector<StoreEffect> effects = effects_of(kind_, message, message.request, message.reply);
    const std::span<Open> operations = of_it.empty() ? std::span<Open>() : std::span(of_it.mapped());
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
    if (of_it.empty()) return;
    of_it.mapped().clear();
    spare_ = std::move(of_it);
  }

  const LockKind& kind_;
  LedgerSink sink_;
  ByExchange open_;
  Opened spare_;                     // of an exchange that is over, to be used again
  std::vector<std::uint32_t> free_;  // a heap, the lowest in front
  std::uint32_t next_slot_ = 0;
};

}  // namespace

MessageWatcher make_ledger(const LockKind& kind, LedgerSink sink) {
  return [ledger = std::make_shared<Ledger>(kind, std::move(sink))](const Message& message) {
    ledger->see(message);
  };
}

}  // namespace holdfast::sim
