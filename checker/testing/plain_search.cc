#include "checker/testing/plain_search.h"

#include <unordered_map>

namespace holdfast::checker {

namespace {

using Bits = std::vector<std::uint64_t>;

struct Configuration {
  Bits happened;
  State state;
};

std::uint64_t hash_of(const Bits& happened, const State& state) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  };
  for (const std::uint64_t word : happened) mix(word);
  for (const auto part : state) mix(static_cast<std::uint64_t>(part));
  return hash;
}

struct Entry {
  std::size_t operation = kNowhere, match = kNowhere;  // match: the entry of the return, of a call
  bool returns = false;
  std::size_t next = 0, previous = 0;
};

}  // namespace

PlainResult plain_search(const std::vector<Operation>& operations, const Model& model, std::uint64_t most) {
  const std::vector<Endpoint> endpoints = endpoints_of(operations);
  const ProcessOrder order = process_order(operations);
  std::vector<Entry> list(endpoints.size() + 1);  // the head is the last one
  const std::size_t head = endpoints.size();
  std::vector<std::size_t> call_of(operations.size());
  std::size_t returns_left = 0;
  for (std::size_t i = 0; i <= head; ++i) {
    list[i].next = i == head ? 0 : i + 1;
    list[i].previous = i == 0 ? head : i - 1;
    if (i == head) break;
    list[i].operation = endpoints[i].operation;
    list[i].returns = endpoints[i].returns;
    if (!endpoints[i].returns) call_of[endpoints[i].operation] = i;
    if (endpoints[i].returns) list[call_of[endpoints[i].operation]].match = i, ++returns_left;
  }
  const auto unlink = [&](std::size_t entry) {
    list[list[entry].previous].next = list[entry].next;
    list[list[entry].next].previous = list[entry].previous;
  };
  const auto link = [&](std::size_t entry) {
    list[list[entry].previous].next = entry;
    list[list[entry].next].previous = entry;
  };

  PlainResult result;
  Configuration now{Bits(operations.size() / 64 + 1, 0), model.initial()};
  std::unordered_map<std::uint64_t, std::vector<Configuration>> cache;
  std::vector<std::pair<std::size_t, State>> taken;  // entry, and the state before it
  const auto bit = [&](std::size_t operation) { return std::uint64_t{1} << (operation % 64); };
  const auto has_happened = [&](std::size_t operation) {
    return (now.happened[operation / 64] & bit(operation)) != 0;
  };
  std::size_t entry = list[head].next;
  while (returns_left > 0) {
    if (entry != head && !list[entry].returns) {
      const std::size_t operation = list[entry].operation, before = order.previous[operation];
      State after = now.state;
      const bool in_turn = before == kNowhere || has_happened(before);
      if (in_turn && ++result.steps > 0 && model.step(after, operations[operation])) {
        now.happened[operation / 64] |= bit(operation);
        std::vector<Configuration>& same = cache[hash_of(now.happened, after)];
        bool known = false;
        for (const Configuration& each : same)
          known = known || (each.happened == now.happened && each.state == after);
        if (!known) {
          if (++result.configurations > most) return result;
          same.push_back({now.happened, after});
          taken.emplace_back(entry, std::move(now.state));
          now.state = std::move(after);
          unlink(entry);
          if (list[entry].match != kNowhere) unlink(list[entry].match), --returns_left;
          entry = list[head].next;
          continue;
        }
        now.happened[operation / 64] &= ~bit(operation);
      }
      entry = list[entry].next;
      continue;
    }
    if (taken.empty()) {
      result.linearizable = false;
      return result;
    }
    entry = taken.back().first;
    now.state = std::move(taken.back().second);
    taken.pop_back();
    now.happened[list[entry].operation / 64] &= ~bit(list[entry].operation);
    if (list[entry].match != kNowhere) link(list[entry].match), ++returns_left;
    link(entry);
    entry = list[entry].next;
  }
  result.linearizable = true;
  return result;
}

}  // namespace holdfast::checker
