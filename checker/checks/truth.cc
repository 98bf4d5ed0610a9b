#include "checker/checks/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "checker/checks/truth_clocks.h"
#include "checker/checks/truth_counts.h"
#include "checker/checks/truth_ledger.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {
namespace {

// A stretch of time in which one record stood.
struct Stretch {
  enum class End { open, expired, command, replication, fault };
  Symbol key = 0;
  std::size_t from = kNowhere, to = kNowhere;  // positions; `to`: of what ended it, nowhere: its expiry
  std::int64_t from_ns = 0, to_ns = kForever;
  End end = End::open;
};

class Comparison {
 public:
  Comparison(const History& history, const CheckContext& context)
      : history_(history), words_(history), holds_(build_holds(history, context.reentrant)) {
    name_records();
    read_ledger();
    for (std::size_t i = 0; i < history.events().size(); ++i) read(i);
    look_beside();
    for (auto& [place, present] : present_)
      close(place, present, history.events().size(), kForever, End::open);
  }

  Truth run() {
    if (!truth_.watched) return std::move(truth_);
    for (const Hold& hold : holds_) judge(hold);
    for (const auto& [key, nodes] : claimed_on_) truth_.lineages += nodes.size() > 1 ? 1 : 0;
    if (!ledger_.empty()) judge_ledger();
    std::stable_sort(truth_.wrong.begin(), truth_.wrong.end(),
                     [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
    return std::move(truth_);
  }

 private:
  using End = Stretch::End;
  struct Present {  // a record that is in the memory of a server, whether it counts still or not
    Stretch stretch;
    std::int64_t until_ns = kForever;
    bool counts = false;
    bool older = false;  // it came back with less time than it had: a fault lost its renewal
    bool shared = false;
    std::uint32_t permits = 0;
    Symbol owner = 0;
  };

  const Event& at(std::size_t position) const { return history_.events()[position]; }

  void name_records() {
    for (const Event& event : history_.events()) {
      if (event.f != Function::other) continue;
      const std::string_view name = history_.text(event.error);
      if (name == kKeyspace) of_process_ = of_process_ || history_.text(event.mode) == kOfAProcess;
      if (name == kRecord && of_process_) of_processes_.emplace(history_.text(event.id), event.id);
    }
  }
  // The record that stands for that acquisition of `client`.
  Symbol record_of(Symbol id, std::string_view client, Symbol key) const {
    if (const auto named = named_.find(id); named != named_.end()) return named->second;
    if (!of_process_) return id;
    const auto found = of_processes_.find(record_of_process(client, history_.text(key)));
    return found == of_processes_.end() ? std::numeric_limits<Symbol>::max() : found->second;
  }

  void read_ledger() {
    ledger_ = read_truth_ledger(history_);
    for (const auto& [place, entries] : ledger_) {
      for (const TruthEntry& entry : entries) {
        if (entry.named != 0) named_.emplace(entry.id, entry.named);
      }
    }
    for (auto& [place, entries] : ledger_) {
      for (TruthEntry& entry : entries) {
        entry.record = record_of(entry.id, history_.text(entry.client), place.second);
      }
    }
  }

  // --- what stood when ---------------------------------------------------------------------------------

  void read(std::size_t i) {
    const Event& event = at(i);
    if (!begun_.empty() && !same_moment(event, at(begun_.front()))) look_beside();
    if (event.f == Function::resize && event.type == EventType::ok)
      limit_[event.key] = event.value.number_or(0);
    if (Effect effect{}; effect_of(history_, event, effect)) {
      if (effect == Effect::crashed) empty(event.node, i);
      if (effect == Effect::clock_stepped) step(event.node, i);
      if (effect == Effect::clock_drifts) drifts(i);
    }
    if (event.f != Function::other) return;
    const std::string_view name = history_.text(event.error);
    if (name == kKeyspace) {
      truth_.watched = true;
      quorum_ = quorum_ || history_.text(event.mode) == kOfAQuorum;
      if (std::find(nodes_.begin(), nodes_.end(), event.node) == nodes_.end()) nodes_.push_back(event.node);
      empty(event.node, i);
    } else if (name == kRecord) {
      event.value == 1 ? stands(i) : gone(i);
    }
  }

  // Ends what ended by itself before `time_ns`.
  void settle(const Place& place, Present& present, std::int64_t time_ns) {
    if (present.counts && present.until_ns <= time_ns) {
      close(place, present, kNowhere, present.until_ns, End::expired);
    }
  }
  void close(const Place& place, Present& present, std::size_t position, std::int64_t time_ns, End end) {
    if (!present.counts) return;
    present.counts = false;
    if (end == End::open && present.until_ns < time_ns) end = End::expired;
    present.stretch.to = end == End::expired ? kNowhere : position;
    present.stretch.to_ns = std::min(time_ns, present.until_ns);
    present.stretch.end = end == End::expired && present.older ? End::fault : end;
    stood_[place].push_back(present.stretch);
  }
  void open(Present& present, std::size_t i) {
    present.counts = true;
    present.stretch = {.key = at(i).key, .from = i, .from_ns = at(i).time_ns};
  }

  void empty(Symbol node, std::size_t i) {
    for (auto found = present_.lower_bound({node, 0});
         found != present_.end() && found->first.first == node;) {
      settle(found->first, found->second, at(i).time_ns);
      close(found->first, found->second, i, at(i).time_ns, End::fault);
      until_[found->first] = found->second.until_ns;
      found = present_.erase(found);
    }
  }

  void step(Symbol node, std::size_t i) {
    steps_[node].push_back(at(i).time_ns);
    for (auto found = present_.lower_bound({node, 0}); found != present_.end() && found->first.first == node;
         ++found) {
      Present& present = found->second;
      settle(found->first, present, at(i).time_ns);
      if (present.until_ns != kForever)
        present.until_ns -= clocks_.in_world_time(node, at(i).value.number_or(0));
      if (present.counts && present.until_ns <= at(i).time_ns) {  // it keeps its end: a step back revives it
        present.counts = false;
        present.stretch.to_ns = at(i).time_ns;
        present.stretch.end = End::fault;
        stood_[found->first].push_back(present.stretch);
      }
      if (!present.counts && present.until_ns > at(i).time_ns) {
        const Symbol key = present.stretch.key;
        open(present, i);
        present.stretch.key = key;
      }
    }
  }

  // Of a server: what its records have left passes at another rate. Of a client: it counts the lease wrongly.
  void drifts(std::size_t i) {
    const Event& event = at(i);
    for (const Symbol node : nodes_) steps_[node].push_back(event.time_ns);
    const std::int64_t before = clocks_.drift(event.node, event.value.number_or(0));
    for (auto found = present_.lower_bound({event.node, 0});
         found != present_.end() && found->first.first == event.node; ++found) {
      Present& present = found->second;
      settle(found->first, present, event.time_ns);
      if (present.until_ns == kForever || present.until_ns <= event.time_ns) continue;
      const std::int64_t left = ServerClocks::by_clock(present.until_ns - event.time_ns, before);
      present.until_ns = event.time_ns + clocks_.in_world_time(event.node, left);
    }
  }

  void stands(std::size_t i) {
    const Event& event = at(i);
    const Place place{event.node, event.id};
    Present& present = present_[place];
    settle(place, present, event.time_ns);
    present.until_ns = event.valid_until_ns == kAbsent
                           ? kForever
                           : clocks_.in_world_time(event.node, event.time_ns, event.valid_until_ns);
    const bool commanded = history_.text(event.process).starts_with(kByCommand);
    const auto before = until_.find(place);
    present.older =
        !commanded && (present.older || (before != until_.end() && present.until_ns < before->second));
    present.shared = history_.text(event.mode) == "read";
    present.permits = event.permits;
    present.owner = event.owner;
    if (present.counts) return;
    open(present, i);
    begun_.push_back(i);
    if (!commanded || ledger_.empty()) return;
    const std::vector<TruthEntry>& entries = ledger_[{event.node, event.key}];
    const bool named = std::any_of(entries.begin(), entries.end(), [&](const TruthEntry& entry) {
      return entry.covers(i) && entry.writes() && !entry.none &&
             (entry.record == event.id || entry.record == 0);
    });
    if (!named) {
      wrong("unnamed-grant", i,
            fmt::format("{} was given a record of {} on {} at {}, and the ledger names no grant.",
                        words_.text(event.id), words_.text(event.key), words_.text(event.node),
                        words_.time(event.time_ns)));
    }
  }

  static bool same_moment(const Event& a, const Event& b) {
    return a.process == b.process && a.time_ns == b.time_ns;
  }
  // When all is as one command left it, which may make a writer a reader, and let readers in.
  void look_beside() {
    for (const std::size_t i : begun_) {
      const auto found = present_.find({at(i).node, at(i).id});
      if (found != present_.end() && found->second.counts && found->second.stretch.from == i)
        beside(i, found->second);
    }
    begun_.clear();
  }
  // Grants on one server exclude each other.
  void beside(std::size_t i, const Present& mine) {
    const Event& event = at(i);
    std::int64_t permits = mine.permits;
    for (const auto& [place, other] : present_) {
      if (place.first != event.node || place.second == event.id || !other.counts) continue;
      if (other.stretch.key != event.key || other.until_ns <= event.time_ns) continue;
      if (mine.owner != 0 && mine.owner == other.owner) continue;
      permits += other.permits;
      if ((mine.shared && other.shared) || (mine.permits > 0 && other.permits > 0)) continue;
      wrong("two-records", i,
            fmt::format("{} had a record of {} on {} while that of {} stood: both count from {}.",
                        words_.text(event.id), words_.text(event.key), words_.text(event.node),
                        words_.text(place.second), words_.time(event.time_ns)));
    }
    const auto limit = limit_.find(event.key);
    if (mine.permits > 0 && limit != limit_.end() && permits > limit->second) {
      wrong("two-records", i,
            fmt::format("{} permits of {} stand on {} at {}, where there are {}.", permits,
                        words_.text(event.key), words_.text(event.node), words_.time(event.time_ns),
                        limit->second));
    }
  }

  void gone(std::size_t i) {
    const Event& event = at(i);
    const auto found = present_.find({event.node, event.id});
    if (found == present_.end()) return;
    Present& present = found->second;
    settle(found->first, present, event.time_ns);
    const std::string_view by = history_.text(event.process);
    const End end = by.starts_with(kByCommand)  ? End::command
                    : by.starts_with(kByExpiry) ? End::expired
                                                : End::replication;
    if (present.counts && end == End::command && !ledger_.empty() && remover(event, i) == nullptr) {
      wrong("unnamed-removal", i,
            fmt::format("The record of {} for {} on {} was removed at {}, and the ledger names no removal.",
                        words_.text(event.key), words_.text(event.id), words_.text(event.node),
                        words_.time(event.time_ns)));
    }
    close(found->first, present, i, event.time_ns, end);
    present_.erase(found);
  }

  // The command that took a record away at that position: a removal for others if there is one, else one for
  // the owner, else a grant to others.
  const TruthEntry* remover(const Event& event, std::size_t i) const {
    const auto found = ledger_.find({event.node, event.key});
    const TruthEntry *own = nullptr, *grant = nullptr;
    if (found == ledger_.end()) return nullptr;
    for (const TruthEntry& entry : found->second) {
      if (!entry.covers(i) || entry.none) continue;
      if (entry.f == Function::store_extend && !entry.writes()) continue;
      if (entry.writes()) {
        grant = &entry;
      } else if (entry.record != event.id || entry.guessed) {
        return &entry;
      } else {
        own = &entry;
      }
    }
    return own != nullptr ? own : grant;
  }

  // --- claims --------------------------------------------------------------------------------------------

  enum class Why { stands, fault, others, wrong };
  struct Finding {
    Why why = Why::stands;
    std::string_view kind = {};
    std::size_t position = kNowhere;
  };

  Finding look(Symbol node, Symbol id, std::int64_t time_ns) const {
    const auto found = stood_.find({node, id});
    const Stretch* last = nullptr;
    if (found != stood_.end()) {
      for (const Stretch& one : found->second) {
        if (one.from_ns > time_ns) break;
        if (time_ns < one.to_ns) return {};
        last = &one;
      }
    }
    if (last == nullptr) return {Why::wrong, "no-record"};
    switch (last->end) {
      case End::open:
      case End::expired: {
        const auto steps = steps_.find(node);
        const bool stepped =
            steps != steps_.end() && std::any_of(steps->second.begin(), steps->second.end(),
                                                 [&](std::int64_t step_ns) { return step_ns <= time_ns; });
        return stepped ? Finding{Why::fault} : Finding{Why::wrong, "record-expired"};
      }
      case End::command: {
        const TruthEntry* const entry = remover(at(last->to), last->to);
        if (entry != nullptr && entry->writes()) {
          return {Why::wrong, "record-overwritten", last->to};
        }
        const bool own = entry == nullptr || (entry->record == id && !entry->guessed);
        return own ? Finding{Why::wrong, "record-removed", last->to} : Finding{Why::others};
      }
      case End::replication:
      case End::fault: return {Why::fault};
    }
    return {};
  }

  // The server that granted it, and from each renewal on the one that renewed it; all, for a quorum.
  std::vector<Symbol> places_at(const Hold& hold, std::int64_t instant) const {
    if (quorum_) return nodes_;
    Symbol node = hold.node != 0 ? hold.node : nodes_.front();
    for (const std::size_t renewal : hold.renewals) {
      if (at(renewal).time_ns > instant) break;
      if (at(renewal).node != 0) node = at(renewal).node;
    }
    return {node};
  }

  void judge(const Hold& hold) {
    const std::int64_t from_ns = hold.from_ns;
    if (!hold.has_claim() || hold.claim_to_ns() <= from_ns) return;
    ++truth_.claims;
    if (!quorum_ && hold.node == 0 && nodes_.size() > 1) {
      ++truth_.unplaced;
      return;
    }
    if (const auto named = named_.find(hold.id); named != named_.end()) {
      auto& [until_ns, owner] = shared_.try_emplace(named->second, from_ns, hold.owner).first->second;
      truth_.shared += from_ns < until_ns && owner != hold.owner ? 1 : 0;
      if (hold.claim_to_ns() > until_ns)
        std::tie(until_ns, owner) = std::pair(hold.claim_to_ns(), hold.owner);
    }
    // Between two of these nothing changes.
    std::set<std::int64_t> instants = {from_ns};
    const auto add = [&](std::int64_t instant) {
      if (instant > from_ns && instant < hold.claim_to_ns()) instants.insert(instant);
    };
    for (const std::size_t renewal : hold.renewals) add(at(renewal).time_ns);
    for (const Symbol node : nodes_) {
      const auto found = stood_.find({node, record_of(hold.id, hold.client, hold.key)});
      if (found == stood_.end()) continue;
      for (const Stretch& one : found->second) add(one.to_ns);
    }
    Why worst = Why::stands;
    for (const std::int64_t instant : instants) {
      const std::vector<Symbol> places = places_at(hold, instant);
      if (!quorum_) claimed_on_[hold.key].insert(places.front());
      Finding finding;
      const Why why = judge_instant(hold, places, instant, finding);
      worst = std::max(worst, why);
      if (why != Why::wrong) continue;
      blame(hold, instant, finding);
      break;
    }
    if (worst == Why::stands) ++truth_.stood;
    if (worst == Why::fault) ++truth_.by_fault;
    if (worst == Why::others) ++truth_.by_others;
  }

  // `finding`: what is wrong at the first server of which there is something wrong.
  Why judge_instant(const Hold& hold, const std::vector<Symbol>& places, std::int64_t instant,
                    Finding& finding) const {
    const std::size_t needed = quorum_ ? places.size() / 2 + 1 : 1;
    std::size_t standing = 0, fault = 0, others = 0;
    for (const Symbol node : places) {
      const Finding here = look(node, record_of(hold.id, hold.client, hold.key), instant);
      standing += here.why == Why::stands ? 1 : 0;
      fault += here.why == Why::fault ? 1 : 0;
      others += here.why == Why::others ? 1 : 0;
      if (here.why == Why::wrong && finding.why != Why::wrong) finding = here;
    }
    if (standing >= needed) return Why::stands;
    if (standing + fault >= needed) return Why::fault;
    return standing + fault + others >= needed ? Why::others : Why::wrong;
  }

  std::string_view what(std::string_view kind) const {
    if (quorum_) return "no majority of the servers had its record";
    if (kind == "no-record") return "its server had no record of it";
    if (kind == "record-expired") return "its record had expired";
    if (kind == "record-overwritten") return "another one was granted over its record";
    return "its record was removed, by no command of others and by no fault";
  }

  void blame(const Hold& hold, std::int64_t instant, const Finding& finding) {
    Witness witness;
    witness.kind = finding.kind;
    witness.key = words_.text(hold.key);
    witness.from_ns = instant;
    witness.to_ns = hold.claim_to_ns();
    witness.why = fmt::format("{} claimed {} until {}, but at {} {}.", words_.grant(hold), witness.key,
                              words_.time(hold.claim_to_ns()), words_.time(instant), what(finding.kind));
    for (const std::size_t position : {hold.invoked, hold.acquired, finding.position, hold.ended}) {
      if (position != kNowhere) witness.events.push_back(position);
    }
    std::sort(witness.events.begin(), witness.events.end());
    truth_.wrong.push_back(std::move(witness));
  }

  // --- the ledger ----------------------------------------------------------------------------------------

  // What the ledger says that it took effect did so.
  void judge_ledger() {
    std::map<Place, std::vector<const Stretch*>> by_key;
    for (const auto& [place, stretches] : stood_) {
      for (const Stretch& one : stretches) by_key[{place.first, one.key}].push_back(&one);
    }
    for (const auto& [place, entries] : ledger_) {
      if (std::find(nodes_.begin(), nodes_.end(), place.first) == nodes_.end()) continue;
      for (const TruthEntry& entry : entries) {
        if (!entry.some) continue;
        const auto overlaps = [&](const Stretch& one) {
          return one.from_ns <= at(entry.answered).time_ns && one.to_ns >= at(entry.forwarded).time_ns;
        };
        bool shown = false;
        if (entry.f == Function::store_grant) {
          const auto found = stood_.find({place.first, entry.record});
          shown = found != stood_.end() && std::any_of(found->second.begin(), found->second.end(), overlaps);
        } else {
          const auto& stretches = by_key[place];
          shown = std::any_of(stretches.begin(), stretches.end(), [&](const Stretch* one) {
            return entry.f == Function::store_extend
                       ? overlaps(*one)
                       : one->to != kNowhere && entry.covers(one->to) && one->end == End::command;
          });
        }
        if (shown) continue;
        wrong("ledger-wrong", entry.forwarded,
              fmt::format(
                  "The ledger says that a command sent for {} at {} had its effect on {} on {} ({}), and "
                  "the keyspace shows none.",
                  words_.text(entry.id), words_.time(at(entry.forwarded).time_ns), words_.text(place.second),
                  words_.text(place.first), to_string(entry.f)));
      }
    }
  }

  void wrong(std::string kind, std::size_t position, std::string why) {
    truth_.wrong.push_back(witness_at(history_, std::move(kind), position, std::move(why)));
  }

  const History& history_;
  const Wording words_;
  const std::vector<Hold> holds_;
  Truth truth_;
  ServerClocks clocks_;
  bool quorum_ = false, of_process_ = false;
  std::map<std::string, Symbol, std::less<>> of_processes_;  // records by name, where they are processes'
  std::vector<Symbol> nodes_;
  TruthLedger ledger_;
  std::map<Symbol, std::pair<std::int64_t, Symbol>> shared_;  // by record: the last claim's end and owner
  std::map<Symbol, Symbol> named_;                            // records of acquisitions that share them
  std::map<Place, std::int64_t> until_;                       // of records whose server was emptied
  std::vector<std::size_t> begun_;                            // records of one moment, not judged yet
  std::map<Place, Present> present_;                          // by node and acquisition
  std::map<Place, std::vector<Stretch>> stood_;               // the same, over; ascending
  std::map<Symbol, std::vector<std::int64_t>> steps_;         // of a node's clock
  std::map<Symbol, std::int64_t> limit_;                      // permits by key
  std::map<Symbol, std::set<Symbol>> claimed_on_;             // by key: on which nodes
};

}  // namespace

Truth compare_with_truth(const History& history, const CheckContext& context) {
  return counts_permits(history) ? compare_counts(history, context) : Comparison(history, context).run();
}

}  // namespace holdfast::checker
