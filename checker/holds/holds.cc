#include "checker/holds/holds.h"

#include <algorithm>

#include "checker/invariant.h"

namespace holdfast::checker {

std::string_view client_of(std::string_view process) { return process.substr(0, process.find('/')); }

Pairs pair_events(const History& history) {
  const auto& events = history.events();
  Pairs pairs{std::vector<std::size_t>(events.size(), kNowhere)};
  std::vector<std::vector<std::size_t>> open(
      history.symbols());  // by process: invocations without completion
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    std::vector<std::size_t>& mine = open[event.process];
    if (event.type == EventType::invoke) {
      mine.push_back(i);
      continue;
    }
    const auto found = std::find_if(mine.begin(), mine.end(), [&](std::size_t at) {
      const Event& invoked = events[at];
      return invoked.f == event.f && invoked.key == event.key &&
             (invoked.id == 0 || event.id == 0 || invoked.id == event.id) &&
             (invoked.node == 0 || event.node == 0 || invoked.node == event.node);
    });
    if (found == mine.end()) continue;
    pairs.other[i] = *found;
    pairs.other[*found] = i;
    mine.erase(found);
  }
  return pairs;
}

namespace {

class Builder {
 public:
  Builder(const History& history, const Pairs& pairs, bool reentrant)
      : history_(history), pairs_(pairs), reentrant_(reentrant), open_(history.symbols()) {}

  std::vector<Hold> build() {
    for (std::size_t i = 0; i < history_.events().size(); ++i) {
      const Event& event = history_.events()[i];
      switch (event.f) {
        case Function::acquire:
          if (event.type == EventType::ok) acquired(event, i);
          break;
        case Function::release:
          if (event.type == EventType::invoke) release_invoked(event, i);
          break;
        case Function::renew:
          if (event.type == EventType::ok) renewed(event, i);
          break;
        case Function::lost:
          if (const std::size_t at = find(event, true); at != kNowhere) end(at, i, HoldEnd::told_lost);
          break;
        case Function::crash: crashed(event, i); break;
        default: break;
      }
    }
    return std::move(holds_);
  }

 private:
  static Symbol owner_of(const Event& event) { return event.owner != 0 ? event.owner : event.process; }

  // The newest open hold that `event` is about; kNowhere: there is none. `by_client`: the process of a
  // renewal or a loss is another one of the same client, and the event may lack the owner.
  std::size_t find(const Event& event, bool by_client) const {
    const auto& open = open_[event.key];
    const std::string_view client = client_of(history_.text(event.process));
    for (auto at = open.rbegin(); at != open.rend(); ++at) {
      const Hold& hold = holds_[*at];
      if (event.id != 0 && hold.id != 0) {
        if (event.id == hold.id) return *at;
      } else if (by_client && event.owner == 0 ? hold.client == client : hold.owner == owner_of(event)) {
        return *at;
      }
    }
    return kNowhere;
  }

  void end(std::size_t at, std::size_t position, HoldEnd how) {
    Hold& hold = holds_[at];
    hold.ended = position;
    hold.to_ns = std::max(hold.from_ns, history_.events()[position].time_ns);
    hold.end = how;
    auto& open = open_[hold.key];
    const auto place = std::find(open.begin(), open.end(), at);
    CHECKER_INVARIANT(place != open.end(), "a hold that ends is open");
    open.erase(place);
  }

  void promise(Hold& hold, const Event& event, std::size_t position) {
    if (event.valid_until_ns == kAbsent || hold.valid_until_ns == kAbsent) return;
    if (event.time_ns > hold.valid_until_ns) return;  // a late renewal does not revive the hold
    if (event.valid_until_ns <= hold.valid_until_ns) return;
    hold.valid_until_ns = event.valid_until_ns;
    hold.renewals.push_back(position);
  }

  void acquired(const Event& event, std::size_t position) {
    const std::size_t held = find(event, false);
    std::uint32_t depth = 1;
    if (held != kNowhere) {
      const bool same = event.id != 0 && event.id == holds_[held].id;
      if ((same || reentrant_) && event.mode == holds_[held].mode) {  // a re-entry
        ++depth_[held];
        return promise(holds_[held], event, position);
      }
      if (same) {  // the acquisition changes its mode
        depth = depth_[held];
        end(held, position, HoldEnd::changed_mode);
      }
    }
    Hold hold;
    hold.invoked = pairs_.other[position];
    hold.acquired = position;
    hold.from_ns = event.time_ns;
    hold.valid_until_ns = hold.granted_until_ns = event.valid_until_ns;
    hold.key = event.key;
    hold.id = event.id;
    hold.owner = owner_of(event);
    hold.process = event.process;
    hold.client = client_of(history_.text(event.process));
    hold.mode = event.mode;
    hold.shared = history_.text(event.mode) == "read";
    hold.node = event.node;
    hold.token = event.token;
    hold.permits = event.permits == 0 ? 1 : event.permits;
    open_[event.key].push_back(holds_.size());
    holds_.push_back(std::move(hold));
    depth_.push_back(depth);
  }

  void release_invoked(const Event& event, std::size_t position) {
    const std::size_t at = find(event, false);
    if (at == kNowhere) return;
    // A release that failed, or whose outcome is unknown, ends the hold at any depth.
    CHECKER_INVARIANT(depth_[at] > 0, "a hold that is open was entered more often than released");
    const std::size_t completion = pairs_.other[position];
    const bool over = completion != kNowhere && history_.events()[completion].type != EventType::ok;
    if (--depth_[at] == 0 || over) end(at, position, HoldEnd::released);
  }

  void renewed(const Event& event, std::size_t position) {
    if (const std::size_t at = find(event, true); at != kNowhere) promise(holds_[at], event, position);
  }

  void crashed(const Event& event, std::size_t position) {
    const std::string_view client = client_of(history_.text(event.process));
    for (std::size_t key = 0; key < open_.size(); ++key) {
      for (std::size_t i = open_[key].size(); i-- > 0;) {
        if (holds_[open_[key][i]].client == client) end(open_[key][i], position, HoldEnd::crashed);
      }
    }
  }

  const History& history_;
  const Pairs& pairs_;
  const bool reentrant_;
  std::vector<std::vector<std::size_t>> open_;  // by key: indices of open holds, oldest first
  std::vector<Hold> holds_;
  std::vector<std::uint32_t> depth_;  // by hold
};

}  // namespace

std::vector<Hold> build_holds(const History& history, const Pairs& pairs, bool reentrant) {
  return Builder(history, pairs, reentrant).build();
}

}  // namespace holdfast::checker
