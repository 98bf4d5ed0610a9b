// Linearizable, by trying every order: what may come next is tried, one after another, until all that is
// known to have happened has happened.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "checker/testing/oracle_world.h"

namespace holdfast::checker::oracle {

namespace {

struct Doing {
  std::string f, process, owner;
  bool known = true;   // else it may happen at any time from `call` on, or never
  bool whole = false;  // gives back all that its owner has
  bool shared = false;
  std::int64_t permits = 1;
  std::string token, value;
  std::int64_t call = 0, ret = kNever;
  int place = 0;  // of the invocation: the order within a process
};

// What an object is, as far as any of its next steps depends on it.
struct Object {
  std::map<std::string, std::int64_t> depth;    // by owner: entries, or permits taken
  std::map<std::string, std::int64_t> readers;  // by owner
  std::int64_t limit = 0;
  std::string greatest, present;   // tokens: of all grants, of this hold
  std::vector<std::string> queue;  // processes
  auto operator<=>(const Object&) const = default;
};

std::int64_t sum(const std::map<std::string, std::int64_t>& counts) {
  std::int64_t all = 0;
  for (const auto& [owner, count] : counts) all += count;
  return all;
}

void take(std::map<std::string, std::int64_t>& counts, const std::string& owner, std::int64_t change) {
  if ((counts[owner] += change) == 0) counts.erase(owner);
}

bool greater(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

// Whether `next` is legal, and what the object is then.
bool step(const Drawn& drawn, Object& object, const Doing& next) {
  const std::string& model = drawn.model;
  const std::string owner = model == "mutex-anonymous" ? "" : next.owner;
  const bool has = object.depth.contains(owner);
  if (drawn.permits > 0) {
    if (next.f == "resize") return object.limit = std::stoll(next.value), true;
    if (next.f == "acquire") {
      if (sum(object.depth) + next.permits > object.limit) return false;
      return take(object.depth, owner, next.permits), true;
    }
    if (!has || object.depth[owner] < next.permits) return false;
    return take(object.depth, owner, -next.permits), true;
  }
  if (model.find("read-write") != std::string::npos) {
    if (next.f == "acquire") {
      const bool again = has && drawn.reentrant && !next.shared;
      if (again) return take(object.depth, owner, 1), true;
      if (!object.depth.empty() && !(has && next.shared)) return false;
      if (!next.shared && !object.readers.empty()) return false;
      return take(next.shared ? object.readers : object.depth, owner, 1), true;
    }
    if (has && !next.shared) return take(object.depth, owner, -1), true;
    if (!object.readers.contains(owner)) return false;
    return take(object.readers, owner, -1), true;
  }
  if (model == "fair" && next.f != "release") {
    std::vector<std::string>& queue = object.queue;
    if (next.f == "queue") return queue.push_back(next.process), true;
    if (next.f == "acquire" && (queue.empty() || queue[0] != next.process)) return false;
    const auto place = std::find(queue.begin(), queue.end(), next.process);
    if (place == queue.end()) return false;
    queue.erase(place);
    if (next.f == "leave") return true;
  }
  if (next.f == "release") {
    if (!has) return false;
    take(object.depth, owner, next.whole ? -object.depth[owner] : -1);
    if (object.depth.empty()) object.present.clear();
    return true;
  }
  if (!object.depth.empty()) {
    if (!drawn.reentrant || !has) return false;
    if (drawn.most_entries > 0 && object.depth[owner] >= drawn.most_entries) return false;
  }
  if (model.find("fenced") != std::string::npos && !next.token.empty()) {
    if (has && !object.present.empty()) {
      if (next.token != object.present) return false;
    } else if (!object.greatest.empty() && !greater(next.token, object.greatest)) {
      return false;
    }
    object.present = next.token;
    if (greater(next.token, object.greatest)) object.greatest = next.token;
  }
  return take(object.depth, owner, 1), true;
}

bool before(const Doing& a, const Doing& b) {
  if (!a.known) return false;
  return a.process == b.process ? a.place < b.place : a.ret < b.call;
}

bool some_order(const Drawn& drawn, const std::vector<Doing>& all, std::uint64_t done, const Object& object,
                std::set<std::pair<std::uint64_t, Object>>& tried) {
  bool finished = true;
  for (std::size_t i = 0; i < all.size(); ++i)
    finished = finished && (!all[i].known || (done >> i & 1U) != 0);
  if (finished) return true;
  if (!tried.emplace(done, object).second) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((done >> i & 1U) != 0) continue;
    bool possible = true;
    for (std::size_t j = 0; j < all.size() && possible; ++j) {
      possible = (done >> j & 1U) != 0 || i == j || !before(all[j], all[i]);
    }
    Object after = object;
    if (possible && step(drawn, after, all[i]) &&
        some_order(drawn, all, done | std::uint64_t{1} << i, after, tried)) {
      return true;
    }
  }
  return false;
}

// An acquire of a lock with a queue: it joins the queue before it is first told that it waits, and is granted
// or leaves after that; where nobody tells, at any time of the acquire.
void take_turns(const Telling& telling, const Drawn& drawn, const World& world, const Act& act,
                const Doing& doing, std::vector<Doing>& all) {
  const Act* told = nullptr;
  for (const Act& other : drawn.acts) {
    const bool during = other.called > act.called && (act.returned < 0 || other.called < act.returned);
    if (told == nullptr && other.f == "queue" && other.process == act.process && during) told = &other;
  }
  const bool failed = act.answer == Answer::fail;
  if (failed && told == nullptr) return;
  Doing joins = doing, ends = doing, leaves = doing;
  joins.f = "queue";
  leaves.f = "leave";
  if (told != nullptr)
    joins.ret = ends.call = leaves.call = telling.jepsen ? told->called : world.call(*told);
  joins.known = told != nullptr || doing.known;
  leaves.known = failed;
  if (failed) leaves.ret = telling.jepsen ? act.returned : world.ret(act);
  all.push_back(joins);
  if (!failed) all.push_back(ends);
  if (!doing.known) all.push_back(leaves);
}

// Acquires, releases and resizes of an object whose holds do not end by themselves.
std::map<std::string, std::vector<Doing>> unleased(const Drawn& drawn, const Telling& telling) {
  const World world(drawn, telling, drawn.model == "session-lock");
  const bool one_hold = drawn.permits == 0 && drawn.model.find("read-write") == std::string::npos;
  std::map<std::string, std::vector<Doing>> keys;
  for (const Act& act : drawn.acts) {
    if (act.f != "acquire" && act.f != "release" && (act.f != "resize" || drawn.permits == 0)) continue;
    Doing doing;
    doing.f = act.f;
    doing.process = act.process;
    doing.owner = act.owner;
    doing.shared = act.shared;
    doing.permits = act.permits;
    doing.value = act.value;
    doing.token = act.token;
    doing.known = act.answer == Answer::ok;
    doing.call = telling.jepsen ? act.called : world.call(act);
    if (doing.known) doing.ret = telling.jepsen ? act.returned : world.ret(act);
    doing.place = act.called;
    keys[act.key];
    if (drawn.model == "fair" && act.f == "acquire") {
      take_turns(telling, drawn, world, act, doing, keys[act.key]);
      continue;
    }
    if (act.answer == Answer::fail || act.answer == Answer::not_owner) {
      if (telling.jepsen || act.f != "release") continue;
      doing.whole = one_hold && act.answer == Answer::not_owner;
    }
    if (drawn.model != "mutex-anonymous" && is_foreign(drawn, act)) {
      if (!doing.known) continue;
      doing.owner = "nobody " + std::to_string(act.called);
    }
    keys[act.key].push_back(doing);
  }
  int made = 0;
  for (const Hold& hold : world.holds) {
    if (!hold.ended_as_told) continue;
    Doing ending;
    ending.f = "release";
    ending.process = "end " + std::to_string(++made);
    ending.owner = hold.owner;
    ending.known = false;
    ending.whole = one_hold;
    ending.shared = hold.shared;
    ending.permits = hold.permits;
    ending.call = telling.jepsen ? hold.to_at : hold.to;
    ending.place = hold.to_at;
    keys[hold.key].push_back(ending);
  }
  // Whoever's holds were ended as a whole goes on as somebody else from the next acquire on.
  for (auto& [key, all] : keys) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Doing& a, const Doing& b) { return a.place < b.place; });
    std::map<std::string, std::string> name;
    std::set<std::string> over;
    for (Doing& doing : all) {
      const std::string owner = doing.owner;
      if (doing.f == "acquire" && over.erase(owner) > 0) name[owner] = owner + " " + std::to_string(++made);
      if (name.contains(owner)) doing.owner = name[owner];
      if (doing.whole) over.insert(owner);
    }
  }
  return keys;
}

// Each hold is an acquire, and from the end of its claim on it may be over.
std::map<std::string, std::vector<Doing>> leased(const Drawn& drawn, const Telling& telling,
                                                 bool& any_claim) {
  const World world(drawn, telling);
  std::map<std::string, std::vector<Doing>> keys;
  int made = 0;
  std::vector<std::pair<const Hold*, std::string>> named;
  any_claim = false;
  for (const Hold& hold : world.holds) {
    Doing acquire;
    acquire.f = "acquire";
    acquire.process = acquire.owner = "hold " + std::to_string(++made);
    const auto to = [](const Hold& of) { return of.until ? of.claim_to() : of.to; };
    // A reader below something that its owner has.
    if (hold.shared) {
      for (const auto& [other, name] : named) {
        if (other->key == hold.key && other->owner == hold.owner && to(*other) > hold.from)
          acquire.owner = name;
      }
    }
    named.emplace_back(&hold, acquire.owner);
    acquire.shared = hold.shared;
    acquire.permits = hold.permits;
    acquire.call = hold.asked;
    acquire.ret = hold.from;
    acquire.place = hold.asked_at;
    keys[hold.key].push_back(acquire);
    any_claim = any_claim || to(hold) > hold.from;
    if (to(hold) == kNever) continue;
    Doing end = acquire;
    end.f = "release";
    end.known = false;
    end.call = to(hold);
    ++end.place;
    keys[hold.key].push_back(end);
  }
  for (const Act* act : world.unheld) {
    Doing release;
    release.f = "release";
    release.process = release.owner = "nobody " + std::to_string(++made);
    release.permits = act->permits;
    release.call = world.call(*act);
    release.ret = world.ret(*act);
    keys[act->key].push_back(release);
  }
  for (const Act& act : drawn.acts) {
    if (act.f != "resize" || drawn.permits == 0 || act.answer == Answer::fail) continue;
    Doing resize;
    resize.f = "resize";
    resize.process = act.process;
    resize.value = act.value;
    resize.known = act.answer == Answer::ok;
    resize.call = world.call(act);
    if (resize.known) resize.ret = world.ret(act);
    resize.place = act.called;
    keys[act.key].push_back(resize);
  }
  return keys;
}

}  // namespace

Truth linearizable(const Drawn& drawn, const Telling& telling) {
  bool any_claim = true;
  const bool by_leases = drawn.model.find("leased") != std::string::npos;
  const auto keys = by_leases ? leased(drawn, telling, any_claim) : unleased(drawn, telling);
  bool anything = false;
  for (const auto& [key, all] : keys) {
    anything = anything || !all.empty();
    if (all.size() > 60) throw std::length_error("the oracle draws small histories");
    Object object;
    object.limit = drawn.permits;
    std::set<std::pair<std::uint64_t, Object>> tried;
    if (!some_order(drawn, all, 0, object, tried)) return Truth::violated;
  }
  return anything && any_claim ? Truth::holds : Truth::unknown;
}

}  // namespace holdfast::checker::oracle
