// no-foreign-release: no command that was sent for acquisition a removed, shortened or extended the server's
// record of another acquisition b. The ledger (store_* events) says which command took effect on which node.
//
// A violation is reported only where it is certain. Let X be a removal or extension sent for a, which took
// effect on key k of node n. It is foreign when there is a grant G of b != a on n and k such that
//   1. G took effect, and its reply was seen before X was forwarded: G came before X on n;
//   2. no grant of a on n and k can have come after G: each one that was forwarded before X's reply was seen
//      was answered before G was forwarded. A grant that was never answered can have come after G, and so can
//      a release that hands over, as long as its answer does not say to whom;
//   3. records of a and b exclude each other: neither took permits or mode "read", as the acquire or the
//      ledger's grant says (an acquire that was not granted in time has no id, but its record stands);
//   4. from the forwarding of G to the reply of X no fault changed what n stores (crash, restart, promotion,
//      replication).
// When G took effect, n had no record of a, or G would have been refused (3). From there to X none was
// granted (2), and none came from another node (4). So X took effect on a record that was not a's: there is
// no false alarm. A command that the ledger knows only by its reply (forwarded and answered at one time) may
// have come earlier and proves nothing. A foreign removal is not reported where another order is possible.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "checker/checks/check_registry.h"
#include "checker/checks/truth.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

struct LedgerCommand {
  std::size_t forwarded = kNowhere, answered = kNowhere;  // positions
  Symbol id = 0;
  Function f = Function::store_grant;
  bool took_effect = false;
};

bool is_store(Function f) {
  return f == Function::store_grant || f == Function::store_remove || f == Function::store_extend;
}

class NoForeignRelease : public Check {
 public:
  std::string_view name() const override { return "no-foreign-release"; }
  std::vector<std::string_view> kinds() const override { return {"foreign-removal", "foreign-extension"}; }
  std::string_view about() const override {
    return "no command removes, shortens or extends the record of another acquisition";
  }
  Verdict run(const History& history, const CheckContext&) const override {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    std::map<std::pair<Symbol, Symbol>, std::vector<LedgerCommand>>
        ledger;  // by node and key, in order of forwarding
    std::vector<std::size_t> upheavals;
    std::vector<bool> shared(history.symbols(), false);  // by acquisition
    bool any = false;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (Effect effect{}; effect_of(history, event, effect) && changes_stores(effect))
        upheavals.push_back(i);
      if ((event.f == Function::acquire || event.f == Function::store_grant) &&
          (history.text(event.mode) == "read" || event.permits > 0)) {
        shared[event.id] = true;
      }
      if (!is_store(event.f)) continue;
      // Permits that nobody owns are given back by anybody.
      if (event.permits > 0 && history.text(event.mode) == kOfItsClient) continue;
      any = true;
      if (event.type != EventType::invoke) continue;
      const std::size_t answer = pairs.other[i];
      const bool effect =
          answer != kNowhere && events[answer].type == EventType::ok && events[answer].value == 1;
      const Symbol id = event.id != 0 || answer == kNowhere ? event.id : events[answer].id;
      ledger[{event.node, event.key}].push_back(
          {.forwarded = i, .answered = answer, .id = id, .f = event.f, .took_effect = effect});
    }
    Verdict verdict;
    if (!any) {
      verdict.reason = "the history has no ledger of the commands at the servers (store-* events)";
      return verdict;
    }
    std::size_t looked_at = 0;
    for (const auto& [place, commands] : ledger) {
      for (const LedgerCommand& x : commands) {
        if (x.f == Function::store_grant || !x.took_effect || x.id == 0 || shared[x.id]) continue;
        ++looked_at;
        judge(history, commands, x, upheavals, shared, verdict);
      }
    }
    std::stable_sort(verdict.witnesses.begin(), verdict.witnesses.end(),
                     [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
    if (verdict.witnesses.size() > 16) verdict.witnesses.resize(16);
    verdict.outcome = verdict.violations > 0 ? Outcome::violated : Outcome::holds;
    verdict.reason = verdict.violations > 0 ? verdict.witnesses.front().why
                                            : fmt::format(
                                                  "{} removals and extensions took effect, each on its own "
                                                  "record as far as the order is known",
                                                  looked_at);
    return verdict;
  }

 private:
  static void judge(const History& history, const std::vector<LedgerCommand>& commands,
                    const LedgerCommand& x, const std::vector<std::size_t>& upheavals,
                    const std::vector<bool>& shared, Verdict& verdict) {
    const auto& events = history.events();
    const auto strictly_before = [&](std::size_t a, std::size_t b) {
      return a < b && (events[a].time_ns < events[b].time_ns || events[a].node == events[b].node);
    };
    if (events[x.forwarded].time_ns >= events[x.answered].time_ns) return;  // known only by its reply
    // Until when a grant of a may have taken effect.
    std::size_t own_until = 0;
    const LedgerCommand* own = nullptr;
    for (const LedgerCommand& grant : commands) {
      if (grant.f != Function::store_grant || grant.forwarded > x.answered) continue;
      if (grant.answered == kNowhere && (grant.id == x.id || grant.id == 0)) return;
      if (grant.id != x.id) continue;
      if (own == nullptr || grant.answered > own_until) own = &grant;
      own_until = std::max(own_until, grant.answered);
    }
    const LedgerCommand* latest = nullptr;  // G: the last grant of another acquisition between those and X
    for (const LedgerCommand& grant : commands) {
      if (grant.forwarded > x.forwarded) break;
      if (grant.f != Function::store_grant || !grant.took_effect || grant.id == x.id || grant.id == 0)
        continue;
      if (events[grant.forwarded].time_ns >= events[grant.answered].time_ns) continue;
      if (shared[grant.id] || !strictly_before(grant.answered, x.forwarded)) continue;
      if (own != nullptr && !strictly_before(own_until, grant.forwarded)) continue;
      const auto upheaval = std::lower_bound(upheavals.begin(), upheavals.end(), grant.forwarded);
      if (upheaval != upheavals.end() && *upheaval < x.answered) continue;
      latest = &grant;
    }
    if (latest == nullptr) return;
    ++verdict.violations;
    const Wording words(history);
    const Event& done = events[x.forwarded];
    Witness witness;
    witness.kind = x.f == Function::store_remove ? "foreign-removal" : "foreign-extension";
    witness.key = words.text(done.key);
    witness.from_ns = done.time_ns;
    witness.to_ns = events[x.answered].time_ns;
    witness.why = fmt::format(
        "A command sent for {} at {} {} the record of {} on {}: {} had been granted to {} at {}{}.",
        words.text(x.id), words.time(done.time_ns), x.f == Function::store_remove ? "removed" : "extended",
        witness.key, words.text(done.node), witness.key, words.text(latest->id),
        words.time(events[latest->answered].time_ns),
        own == nullptr ? "" : ", after " + words.text(x.id) + "'s own grant was gone");
    for (const LedgerCommand* command : {own, latest, &x}) {
      if (command == nullptr) continue;
      witness.events.push_back(command->forwarded);
      witness.events.push_back(command->answered);
    }
    std::sort(witness.events.begin(), witness.events.end());
    verdict.witnesses.push_back(std::move(witness));
  }
};

}  // namespace

const Check& no_foreign_release_check() {
  static const NoForeignRelease check;
  return check;
}

}  // namespace holdfast::checker
