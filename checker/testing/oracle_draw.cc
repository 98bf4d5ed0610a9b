// One loop: some process takes its next step, and the service answers from what it believes.
#include "checker/testing/oracle_draw.h"

#include <algorithm>
#include <map>

#include "checker/testing/random.h"

namespace holdfast::checker::oracle {

namespace {

constexpr std::int64_t kTick = 10;

struct Grant {  // as the service sees it
  std::string key, owner, id;
  bool shared = false;
  std::int64_t permits = 1, until = INT64_MAX, depth = 1;
  std::string token;
};

struct Process {
  std::string name, client, owner;  // owner: "" unless it names one
  int open = -1;                    // the act that has not returned
  int generation = 0;
  bool dead = false;
  std::vector<Grant> mine;  // what it believes that it holds
};

class Drawing {
 public:
  Drawing(const std::string& model, std::uint64_t seed) : random_(seed) {
    drawn_.model = model;
    drawn_.reentrant = model.starts_with("reentrant");
    drawn_.leased = model.find("leased") != std::string::npos || one_of(4);
    const bool semaphore = model.find("semaphore") != std::string::npos;
    if (semaphore) drawn_.permits = limit_ = random_.between(1, 3);
    if (drawn_.reentrant && !drawn_.leased && one_of(3)) drawn_.most_entries = random_.between(1, 2);
    shares_ = model.find("read-write") != std::string::npos;
    queues_ = model == "fair";
    fences_ = model.find("fenced") != std::string::npos || one_of(3);
    silent_claims_ = drawn_.leased && one_of(4);
    ids_ = static_cast<int>(random_.between(0, 3));
    owners_ = static_cast<int>(random_.between(0, 3));
    keys_ = one_of(3) ? 2 : 1;
    tie_ = static_cast<int>(random_.between(0, 3));
    numbers_ = one_of(3);
    great_ = one_of(6);
    if (one_of(6)) {  // what a text log can tell
      numbers_ = true;
      fences_ = false;
      drawn_.leased = model.find("leased") != std::string::npos;
      ids_ = owners_ = 0;
      keys_ = 1;
    }
    wild_ = random_.chance(0.5) ? 0.25 : 0.02;
    const std::int64_t clients = random_.between(2, 4);
    for (std::int64_t c = 1; c <= clients; ++c) {
      const std::int64_t threads = !numbers_ && one_of(4) ? 2 : 1;
      for (std::int64_t thread = 0; thread < threads; ++thread) {
        Process process;
        process.client = numbers_ ? std::to_string(c) : "c" + std::to_string(c);
        process.name = numbers_ ? process.client : process.client + "/" + std::to_string(thread);
        if (owners_ == 1) process.owner = "o" + std::to_string(processes_.size());
        if (owners_ == 2) process.owner = process.client;
        if (owners_ == 3 && one_of(2)) process.owner = process.name;
        processes_.push_back(process);
      }
    }
  }

  Drawn draw() {
    const int wanted = static_cast<int>(random_.between(4, 8));
    for (int step = 0; step < 60 && (asked_ < wanted || (step < 40 && !one_of(6))); ++step) {
      Process& process = processes_[static_cast<std::size_t>(
          random_.between(0, static_cast<std::int64_t>(processes_.size()) - 1))];
      if (process.dead) continue;
      if (process.open >= 0) {
        answer(process);
      } else if (asked_ < wanted) {
        ask(process);
      }
    }
    drawn_.recorded = next_place_;
    for (Act& act : drawn_.acts) {
      if (act.returned < 0) act.answer = Answer::unknown;
    }
    return std::move(drawn_);
  }

 private:
  bool one_of(std::int64_t many) { return random_.between(1, many) == 1; }
  std::string key() { return keys_ == 1 || one_of(2) ? "k" : "l"; }

  // The time and place of the next event. Two processes of one client, or of one owner, have no event at one
  // time: what one of them does to the other's hold would have no order.
  int record(const std::string& process, const std::string& client, const std::string& owner) {
    const std::int64_t steps = tie_ == 0 ? 1 : std::max<std::int64_t>(0, random_.between(-tie_, 2));
    now_ += steps * kTick;
    for (const std::string& party : {client, owner}) {
      const auto last = last_of_.find(party);
      if (last != last_of_.end() && last->second.first == now_ && last->second.second != process)
        now_ += kTick;
    }
    for (const std::string& party : {client, owner}) last_of_[party] = {now_, process};
    if (now_ == last_time_) drawn_.ties = true;
    last_time_ = now_;
    return next_place_++;
  }

  Act& begin(const Process& process, const std::string& f, const std::string& key) {
    Act act;
    act.f = f;
    act.process = process.name;
    act.client = process.client;
    act.names_owner = !process.owner.empty();
    act.owner = act.names_owner ? process.owner : process.name;
    act.key = key;
    act.called = record(act.process, act.client, act.owner);
    act.call = now_;
    drawn_.acts.push_back(act);
    return drawn_.acts.back();
  }
  void finish(Act& act, Answer answer) {
    act.answer = answer;
    act.returned = record(act.process, act.client, act.owner);
    act.ret = now_;
  }

  void ask(Process& process) {
    if (!process.mine.empty() && !one_of(drawn_.reentrant ? 2 : 4)) {
      const std::int64_t which = random_.between(0, 9);
      if (which == 0) return lose(process);
      if (which == 1) return die(process);
      if (which <= 3 && drawn_.leased) return renew(process);
      if (which <= 8) return release(process);
    }
    if (drawn_.permits > 0 && one_of(8)) return resize(process);
    if (process.mine.empty() && one_of(10)) return release(process);
    acquire(process);
  }

  std::string new_id() {
    if (ids_ == 0) return "";
    if (ids_ == 1) return "a" + std::to_string(++next_id_);
    if (ids_ == 2) return one_of(2) ? "a1" : "a2";  // owners use one another's, and their own again
    return one_of(3) ? "" : "a" + std::to_string(++next_id_);
  }

  void acquire(Process& process) {
    ++asked_;
    Act& act = begin(process, "acquire", key());
    act.shared = shares_ && !one_of(3);
    if (drawn_.permits > 0) {
      act.permits = random_.between(1, 2);
      act.names_permits = act.permits != 1 || one_of(2);
    }
    process.open = static_cast<int>(drawn_.acts.size()) - 1;
  }

  void release(Process& process) {
    ++asked_;
    const bool mine = !process.mine.empty();
    const Grant grant = mine ? process.mine[static_cast<std::size_t>(
                                   random_.between(0, static_cast<std::int64_t>(process.mine.size()) - 1))]
                             : Grant{.key = key(), .owner = {}, .id = {}, .token = {}};
    Act& act = begin(process, "release", grant.key);
    act.shared = grant.shared && !one_of(6);
    act.id = one_of(4) ? "" : grant.id;
    if (ids_ != 0 && one_of(12)) act.id = new_id();  // another's, or one that nobody has
    act.permits = drawn_.permits > 0 && one_of(4) ? random_.between(1, 2) : grant.permits;
    act.names_permits = act.permits != 1;
    process.open = static_cast<int>(drawn_.acts.size()) - 1;
    forget(process.mine, grant);
    const std::string owner = process.owner.empty() ? process.name : process.owner;
    act.answer = serve_release(grant.key, owner, act.shared, act.permits) ? Answer::ok : Answer::not_owner;
  }
  static void forget(std::vector<Grant>& grants, const Grant& grant) {
    for (std::size_t i = 0; i < grants.size(); ++i) {
      if (grants[i].key != grant.key || grants[i].id != grant.id || grants[i].shared != grant.shared)
        continue;
      grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  void resize(Process& process) {
    ++asked_;
    Process other = process;
    other.name = "admin";
    other.client = "admin";
    other.owner = "";
    Act& act = begin(other, "resize", key());
    act.value = std::to_string(random_.between(1, 4));
    limit_ = std::max<std::int64_t>(limit_, std::stoll(act.value));
    if (one_of(3)) {  // one event tells it
      act.single = true;
      act.returned = act.called;
      act.ret = act.call;
      act.answer = Answer::ok;
      return;
    }
    const std::size_t at = drawn_.acts.size() - 1;
    if (one_of(2)) ask_or_answer_somebody(process);
    finish(drawn_.acts[at], one_of(6) ? Answer::unknown : one_of(8) ? Answer::fail : Answer::ok);
  }

  void lose(Process& process) {
    const Grant grant = process.mine.front();
    Process watchdog = process;
    if (one_of(2)) watchdog.name = process.client + "/watchdog";
    Act& act = begin(watchdog, "lost", grant.key);
    act.names_owner = act.names_owner && !one_of(3);
    act.id = one_of(3) ? "" : grant.id;
    act.single = true;
    act.returned = act.called;
    act.ret = act.call;
    act.answer = Answer::ok;
    forget(process.mine, grant);
  }

  void die(Process& process) {
    Process client = process;
    client.name = process.client;
    client.owner.clear();
    now_ += kTick;  // nor has an owner of the client an event then
    Act& act = begin(client, "crash", "");
    for (const Process& each : processes_) {
      if (each.client == client.client && !each.owner.empty()) last_of_[each.owner] = {now_, client.name};
    }
    act.single = true;
    act.returned = act.called;
    act.ret = act.call;
    act.answer = Answer::ok;
    for (Process& each : processes_) {
      if (each.client != client.client) continue;
      each.dead = one_of(2);
      each.mine.clear();
      std::erase(queue_, each.open);
      if (!each.dead) rename(each);
    }
  }

  void renew(Process& process) {
    const Grant grant = process.mine.back();
    Process watchdog = process;
    watchdog.name = process.client + "/watchdog" + (one_of(2) ? "" : std::to_string(++watchdogs_));
    const std::size_t at = drawn_.acts.size();
    Act& act = begin(watchdog, "renew", grant.key);
    act.names_owner = act.names_owner && !one_of(3);
    act.id = one_of(3) ? "" : grant.id;
    if (one_of(6)) return;  // never answered
    if (one_of(3)) ask_or_answer_somebody(process);
    Act& again = drawn_.acts[at];
    finish(again, one_of(6) ? Answer::fail : one_of(8) ? Answer::unknown : Answer::ok);
    if (again.answer == Answer::ok && !one_of(8)) again.valid_until = lease();
    for (Grant& each : service_) {
      if (again.valid_until && each.key == grant.key && each.owner == grant.owner)
        each.until = *again.valid_until;
    }
  }
  // Something happens while a renewal is under way.
  void ask_or_answer_somebody(const Process& but) {
    for (Process& each : processes_) {
      if (&each == &but || each.dead || each.open < 0) continue;
      return answer(each);
    }
  }

  std::int64_t lease() { return now_ + random_.between(one_of(8) ? -2 : 1, one_of(4) ? 4 : 12) * kTick; }

  void rename(Process& process) {
    process.open = -1;
    const std::size_t mark = process.name.find('#');
    const bool same = process.owner == process.name;
    process.name = process.name.substr(0, mark) + "#" + std::to_string(++process.generation);
    if (numbers_) process.name = process.client = std::to_string(10 + next_name_++);
    if (same && !process.owner.empty()) process.owner = process.name;
    process.mine.clear();
  }

  bool free_for(const Act& act) const {
    std::int64_t taken = 0;
    for (const Grant& each : service_) {
      if (each.key != act.key || each.until <= now_) continue;
      taken += each.permits;
      if (drawn_.permits > 0) continue;
      if (each.owner == act.owner && (drawn_.reentrant || (shares_ && act.shared && !each.shared))) continue;
      if (!(each.shared && act.shared)) return false;
    }
    return drawn_.permits == 0 || taken + act.permits <= limit_;
  }

  bool serve_release(const std::string& key, const std::string& owner, bool shared, std::int64_t permits) {
    for (std::size_t i = service_.size(); i-- > 0;) {
      Grant& each = service_[i];
      if (each.key != key || each.owner != owner || each.shared != shared) continue;
      each.permits -= drawn_.permits > 0 ? permits : each.permits;
      if (each.permits <= 0) service_.erase(service_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  void answer(Process& process) {
    Act& act = drawn_.acts[static_cast<std::size_t>(process.open)];
    if (act.f == "acquire") return answer_acquire(process, act);
    Answer answer = act.answer;
    if (one_of(8)) answer = Answer::unknown;
    if (one_of(10)) answer = one_of(2) ? Answer::fail : Answer::not_owner;
    if (random_.chance(wild_)) answer = answer == Answer::ok ? Answer::not_owner : Answer::ok;
    finish(act, answer);
    process.open = -1;
    if (answer == Answer::unknown) rename(process);
  }

  // The acquire is told that it waits, mostly once.
  void wait_in_queue(const Process& process, const Act& act) {
    if (std::count(queue_.begin(), queue_.end(), process.open) > 0 && !one_of(10)) return;
    queue_.push_back(process.open);
    const std::string key = act.key;
    Act& told = begin(process, "queue", key);  // and `act` may have moved
    told.single = true;
    told.returned = told.called;
    told.ret = told.call;
    told.answer = Answer::ok;
  }
  bool first_in_queue(const Process& process, const Act& act) const {
    for (const int other : queue_) {
      if (other == process.open) return true;
      if (drawn_.acts[static_cast<std::size_t>(other)].key == act.key) return false;
    }
    return true;
  }

  void answer_acquire(Process& process, Act& act) {
    const bool free = free_for(act) && (!queues_ || first_in_queue(process, act));
    const bool granted = free ? !one_of(10) : random_.chance(wild_);
    if (!granted && queues_ && !one_of(3)) return wait_in_queue(process, act);
    if (!granted && one_of(2)) return;  // it waits
    std::erase(queue_, process.open);
    if (!granted) {
      const bool unknown = one_of(2);
      finish(act, unknown ? Answer::unknown : Answer::fail);
      process.open = -1;
      if (unknown) rename(process);
      return;
    }
    const Grant* const writes = one_of(3) ? nullptr : writer(act);
    Grant grant{.key = act.key,
                .owner = act.owner,
                .id = writes != nullptr ? writes->id : new_id(),
                .shared = act.shared,
                .permits = act.permits,
                .token = {}};
    finish(act, Answer::ok);
    act.id = grant.id;
    if (drawn_.leased && !(silent_claims_ && one_of(3))) act.valid_until = grant.until = lease();
    if (fences_) act.token = grant.token = writes != nullptr ? writes->token : token(grant);
    process.mine.push_back(grant);
    service_.push_back(grant);
    process.open = -1;
  }

  // The grant beside which a writer begins to read; null: it is none.
  const Grant* writer(const Act& act) const {
    for (const Grant& each : service_) {
      if (act.shared && !each.shared && each.key == act.key && each.owner == act.owner) return &each;
    }
    return nullptr;
  }

  // From one digit to two, or from 19 digits to 20.
  std::string shown(std::int64_t token) const {
    std::string digits = std::to_string(token);
    if (!great_) return digits;
    if (token < 10) return "999999999999999999" + digits;
    digits = std::to_string(token - 10);
    return "1" + std::string(19 - digits.size(), '0') + digits;
  }
  std::string token(const Grant& grant) {
    if (one_of(10)) return "";
    if (drawn_.reentrant) {
      for (const Grant& each : service_) {
        if (each.key == grant.key && each.owner == grant.owner && !one_of(6)) return each.token;
      }
    }
    if (random_.chance(wild_ / 2)) return shown(std::max<std::int64_t>(1, token_ - random_.between(0, 3)));
    token_ += random_.between(1, 3);
    return shown(token_);
  }

  testing::Random random_;
  Drawn drawn_;
  std::vector<Process> processes_;
  std::vector<Grant> service_;
  std::vector<int> queue_;  // acts that were told to wait, in their order
  std::map<std::string, std::pair<std::int64_t, std::string>> last_of_;  // client or owner: time, process
  std::int64_t now_ = 0, last_time_ = -1, limit_ = 0, token_ = 6;
  int asked_ = 0, next_place_ = 0, next_name_ = 0, next_id_ = 0, watchdogs_ = 0;
  int ids_ = 0, owners_ = 0, keys_ = 1, tie_ = 0;
  double wild_ = 0;
  bool numbers_ = false, great_ = false, shares_ = false, fences_ = false, silent_claims_ = false,
       queues_ = false;
};

}  // namespace

const std::vector<std::string>& drawn_models() {
  static const std::vector<std::string> models = {"mutex",
                                                  "mutex-anonymous",
                                                  "reentrant-mutex",
                                                  "fenced-mutex",
                                                  "reentrant-fenced-mutex",
                                                  "read-write",
                                                  "reentrant-read-write",
                                                  "semaphore",
                                                  "fair",
                                                  "session-lock",
                                                  "leased-mutex",
                                                  "reentrant-leased-mutex",
                                                  "leased-semaphore",
                                                  "leased-read-write",
                                                  "reentrant-leased-read-write"};
  return models;
}

Drawn draw(const std::string& model, std::uint64_t seed) { return Drawing(model, seed).draw(); }

}  // namespace holdfast::checker::oracle
