// balance: after transfers between accounts, is the money where it should be?
//
// The process "audit" read every account at the beginning and at the end. In between each transfer took from
// one account (`debit`) and gave to another (`credit`). One that returned ok has done both; one whose outcome
// is unknown may have done any part of it. So each account must hold what it began with and what its
// transfers made of it, all accounts together what they began with, and no account may ever fall below zero.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

struct Account {
  std::size_t opened = kNowhere, closed = kNowhere;  // positions of the audit's first and last reading
  std::int64_t expected = 0;
  std::int64_t least = 0, most = 0;  // what transfers of unknown outcome may have added to that
};

class Balance : public Check {
 public:
  std::string_view name() const override { return "balance"; }
  std::string_view about() const override {
    return "transfers neither lose nor make money, and no account falls below zero";
  }
  std::vector<std::string_view> kinds() const override {
    return {"overdrawn", "sum-changed", "lost-transfer"};
  }

  Verdict run(const History& history, const CheckContext&) const override {
    if (auto unknown = unless_numbers(history, {Function::read, Function::write, Function::other})) {
      return *unknown;
    }
    const auto& events = history.events();
    std::map<Symbol, Account> accounts;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].f != Function::read || history.text(events[i].process) != "audit") continue;
      if (events[i].type != EventType::ok || events[i].value.empty()) continue;
      Account& account = accounts[events[i].key];
      if (account.opened == kNowhere) {
        account.opened = i;
        account.expected = events[i].value.number();
      } else {
        account.closed = i;
      }
    }
    const std::size_t transfers = count(history, accounts);
    Verdict verdict;
    const bool closed = std::all_of(accounts.begin(), accounts.end(),
                                    [](const auto& one) { return one.second.closed != kNowhere; });
    if (accounts.empty() || !closed || transfers == 0) {
      verdict.reason = accounts.empty() || !closed
                           ? "the history has no audit of accounts at its beginning and its end"
                           : "the history has no transfer that returned";
      return verdict;
    }
    below_zero(history, accounts, verdict);
    const bool unclear = amounts(history, accounts, verdict);
    std::stable_sort(verdict.witnesses.begin(), verdict.witnesses.end(),
                     [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (unclear) {
      verdict.reason = "the accounts differ by what transfers whose outcome is unknown may have done in part";
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} transfers, all of the money is where it should be", transfers);
    }
    return verdict;
  }

 private:
  // Adds up debits and credits. How many transfers returned.
  static std::size_t count(const History& history, std::map<Symbol, Account>& accounts) {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    std::size_t transfers = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f != Function::other || event.type != EventType::invoke) continue;
      const std::string_view what = history.text(event.error);
      if (what != "debit" && what != "credit") continue;
      const std::int64_t moved = event.value.number_or(0), change = what == "debit" ? -moved : moved;
      Account& account = accounts[event.key];
      const std::size_t end = pairs.other[i];
      if (end != kNowhere && events[end].type == EventType::ok) {
        account.expected += change;
        transfers += what == "debit" ? 1 : 0;
      } else if (end == kNowhere || events[end].type == EventType::info) {
        (change < 0 ? account.least : account.most) += change;
      }
    }
    return transfers;
  }

  static void below_zero(const History& history, const std::map<Symbol, Account>& accounts,
                         Verdict& verdict) {
    const auto& events = history.events();
    const Wording words(history);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f != Function::write || event.type != EventType::ok || !accounts.contains(event.key))
        continue;
      if (event.value.empty() || event.value.number() >= 0) continue;
      ++verdict.violations;
      if (verdict.witnesses.size() >= 16) continue;
      Witness witness = over_others(history, event.key, i);
      witness.kind = "overdrawn";
      witness.why = fmt::format("{} fell to {} by a write of {} at {}, which had read enough for it.{}",
                                words.text(event.key), event.value.number(), words.text(event.process),
                                words.time(event.time_ns), witness.why);
      verdict.witnesses.push_back(std::move(witness));
    }
  }

  // True: the accounts are not as they should be, but transfers of unknown outcome may be why.
  static bool amounts(const History& history, const std::map<Symbol, Account>& accounts, Verdict& verdict) {
    const auto& events = history.events();
    const Wording words(history);
    std::int64_t sum = 0, least = 0, most = 0;  // beyond what was there at the beginning
    bool wrong = false, exact = true;
    Symbol where = 0;
    for (const auto& [key, account] : accounts) {
      const std::int64_t off = events[account.closed].value.number() - account.expected;
      sum += off;
      least += account.least;
      most += account.most;
      exact = exact && off == 0;
      if (off >= account.least && off <= account.most) continue;
      wrong = true;
      if (where == 0) where = key;
    }
    if (!wrong) return !exact;
    const bool changed = sum < least || sum > most;
    ++verdict.violations;
    Witness witness = over_others(history, where, kNowhere);
    witness.kind = changed ? "sum-changed" : "lost-transfer";
    std::string found;
    for (const auto& [key, account] : accounts) {
      found += fmt::format("{}{} {} (should be {})", found.empty() ? "" : ", ", words.text(key),
                           events[account.closed].value.number(), account.expected);
    }
    witness.why = (changed ? fmt::format("{} was {}: ", std::abs(sum), sum < 0 ? "lost" : "made of nothing")
                           : std::string("Transfers that returned ok are not in the accounts: ")) +
                  found + "." + witness.why;
    verdict.witnesses.push_back(std::move(witness));
    return false;
  }

  // The first write to `key`, or the one at `only`, before which somebody else wrote what its writer had read
  // already.
  static Witness over_others(const History& history, Symbol key, std::size_t only) {
    const auto& events = history.events();
    const Wording words(history);
    Witness witness;
    witness.key = words.text(key);
    std::vector<std::size_t> last_read(history.symbols(), kNowhere);  // by process
    std::vector<std::size_t> writes;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.key != key || event.type != EventType::ok) continue;
      if (event.f == Function::read) last_read[event.process] = i;
      if (event.f != Function::write) continue;
      const std::size_t read = last_read[event.process];
      if (read != kNowhere && (only == kNowhere || only == i) && !writes.empty() && writes.back() > read &&
          events[writes.back()].process != event.process) {
        const Event& other = events[writes.back()];
        witness.events = {read, writes.back(), i};
        witness.from_ns = events[read].time_ns;
        witness.to_ns = event.time_ns;
        witness.why = fmt::format(
            " {} read {} at {}, {} wrote {} at {}, and {} wrote {} at {}.", words.text(event.process),
            history.shown(events[read].value), words.time(witness.from_ns), words.text(other.process),
            history.shown(other.value), words.time(other.time_ns), words.text(event.process),
            history.shown(event.value), words.time(event.time_ns));
        return witness;
      }
      writes.push_back(i);
    }
    if (only != kNowhere) writes = {only};
    if (!writes.empty()) {
      witness.events = {writes.back()};
      witness.from_ns = witness.to_ns = events[writes.back()].time_ns;
    }
    return witness;
  }
};

}  // namespace

const Check& balance_check() {
  static const Balance check;
  return check;
}

}  // namespace holdfast::checker
