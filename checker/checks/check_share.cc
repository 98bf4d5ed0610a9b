// share: every client gets its share of the grants, wherever it sits.
//
// Counted are the grants of the time in which all clients want the lock: from the first request of the last
// one that begins, to the last answer to the first one that stops asking. An even share is what they got
// together, by the number of clients. A client that got less than the part of it that the scenario asks for
// is `starved`.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

constexpr std::int64_t kLeastEach = 10;  // grants, on average: fewer say nothing

struct Asker {
  std::int64_t first_ns = kForever;                                 // request
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();  // answer; kForever: one is awaited
  std::int64_t awaited = 0;
  std::int64_t grants = 0;
};

class Share : public Check {
 public:
  std::string_view name() const override { return "share"; }
  std::vector<std::string_view> kinds() const override { return {"starved"}; }
  std::string_view about() const override {
    return "while all clients want the lock, each gets its share of the grants";
  }

  Verdict run(const History& history, const CheckContext& context) const override {
    Verdict verdict;
    if (context.least_share_percent <= 0) {
      verdict.reason = "nobody says how large a share must be";
      return verdict;
    }
    auto askers = askers_of(history);
    if (askers.size() < 2) {
      verdict.reason = "the history has no two clients that ask for a lock";
      return verdict;
    }
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min(), end_ns = kForever;
    for (const auto& [client, asker] : askers) {
      begin_ns = std::max(begin_ns, asker.first_ns);
      end_ns = std::min(end_ns, asker.last_ns);
    }
    std::vector<Hold> holds = build_holds(history, context.reentrant);
    std::erase_if(holds, [&](const Hold& hold) { return hold.from_ns < begin_ns || hold.from_ns > end_ns; });
    std::sort(holds.begin(), holds.end(),
              [](const Hold& a, const Hold& b) { return a.acquired < b.acquired; });
    const auto clients = static_cast<std::int64_t>(askers.size());
    const auto total = static_cast<std::int64_t>(holds.size());
    if (total < kLeastEach * clients) {
      verdict.reason = fmt::format(
          "{} grants to {} clients while all of them wanted the lock: too few to tell", total, clients);
      return verdict;
    }
    for (const Hold& hold : holds) ++askers[hold.client].grants;
    const auto percent = [&](std::int64_t grants) { return grants * clients * 100 / total; };
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [client, asker] : askers) {
      least = std::min(least, percent(asker.grants));
      if (asker.grants * clients * 100 >= context.least_share_percent * total) continue;
      ++verdict.violations;
      Witness witness;
      witness.kind = "starved";
      witness.why = fmt::format(
          "{} was granted {} of the {} grants to {} clients while all of them wanted the lock: {}% of an "
          "even "
          "share, expected at least {}%.",
          client, asker.grants, total, clients, percent(asker.grants), context.least_share_percent);
      witness.key = history.text(holds.front().key);
      witness.from_ns = begin_ns;
      witness.to_ns = std::min(end_ns, holds.back().from_ns);
      witness.events = events_of(history, holds);
      verdict.witnesses.push_back(std::move(witness));
    }
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} grants to {} clients, {}% of an even share at least, expected {}%",
                                   total, clients, least, context.least_share_percent);
    }
    return verdict;
  }

 private:
  static std::map<std::string_view, Asker> askers_of(const History& history) {
    std::map<std::string_view, Asker> askers;
    for (const Event& event : history.events()) {
      if (event.f != Function::acquire) continue;
      const std::string_view client = client_of(history.text(event.process));
      if (client == kRestClient) continue;
      Asker& asker = askers[client];
      if (event.type == EventType::invoke) {
        asker.first_ns = std::min(asker.first_ns, event.time_ns);
        ++asker.awaited;
      } else {
        asker.last_ns = std::max(asker.last_ns, event.time_ns);
        --asker.awaited;
      }
    }
    for (auto& [client, asker] : askers) {
      if (asker.awaited > 0) asker.last_ns = kForever;
    }
    return askers;
  }

  // The requests and answers that were counted, and the first and the last of each client.
  static std::vector<std::size_t> events_of(const History& history, const std::vector<Hold>& holds) {
    std::vector<std::size_t> events;
    for (const Hold& hold : holds) {
      if (hold.invoked != kNowhere) events.push_back(hold.invoked);
      events.push_back(hold.acquired);
      if (hold.ended != kNowhere) events.push_back(hold.ended);
    }
    const Pairs pairs = pair_events(history);
    std::map<std::string_view, std::pair<std::size_t, std::size_t>> ends;  // by client: requests
    for (std::size_t i = 0; i < history.events().size(); ++i) {
      const Event& event = history.events()[i];
      if (event.f != Function::acquire || event.type != EventType::invoke) continue;
      ends.try_emplace(client_of(history.text(event.process)), i, i).first->second.second = i;
    }
    for (const auto& [client, both] : ends) {
      for (const std::size_t request : {both.first, both.second}) {
        events.push_back(request);
        if (pairs.other[request] != kNowhere) events.push_back(pairs.other[request]);
      }
    }
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    return events;
  }
};

}  // namespace

const Check& share_check() {
  static const Share check;
  return check;
}

}  // namespace holdfast::checker
