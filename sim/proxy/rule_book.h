// RuleBook: the rules and watchers of one proxy, as its relays see them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/proxy/proxy.h"
#include "sim/world/past.h"

namespace holdfast::sim {

struct RuleBook {
  struct Entry {
    RuleId id;
    std::shared_ptr<Rule> rule;
    bool messages;  // needs_messages()
  };

  RuleId add(std::shared_ptr<Rule> rule) {
    const bool messages = rule->needs_messages();
    rules.push_back({++last_rule, std::move(rule), messages});
    ++generation;
    return last_rule;
  }
  bool remove(RuleId id) {
    ++generation;
    return std::erase_if(rules, [id](const Entry& entry) { return entry.id == id; }) > 0;
  }
  // Relays are parties of their own (past.h). What they share is this book: who reads it or changes it says
  // so.
  void shared(Past::Access access) const {
    if (past != nullptr) past->share("proxy/rules", access);
  }
  // A rule on messages may count them, over all links. `acts`: on this one.
  void counts(RuleId id, bool acts) const {
    if (past == nullptr) return;
    past->share("proxy/rule/" + std::to_string(id), acts ? Past::Access::write : Past::Access::add);
  }
  bool has(RuleId id) const {
    return std::any_of(rules.begin(), rules.end(), [id](const Entry& entry) { return entry.id == id; });
  }

  struct Watcher {
    MessageWatcher see;
    MayAct may_act;
  };

  Past* past = nullptr;           // null: nobody asked
  std::vector<Entry> rules;       // ids ascending
  std::deque<Watcher> watchers;   // only grows: references stay valid while one of them adds another
  std::deque<FateWatcher> fates;  // only grows
  PassageWatcher* passages = nullptr;
  std::uint64_t last_passage = 0;
  std::uint64_t generation = 1;  // of rules and watchers
  RuleId last_rule = 0;
  std::uint64_t last_exchange = 0;
  ProxyStats stats;
  ByteCounter counter;
};

}  // namespace holdfast::sim
