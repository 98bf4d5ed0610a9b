#include "sim/hunt/draw_roles.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class Teller {
 public:
  Teller(const RoleStories& of, Dice dice) : of_(of), dice_(dice), primary_(of.nodes.front()) {}

  std::vector<Value> tell() {
    const std::uint64_t stories = dice_.between(1, of_.most);
    for (std::uint64_t i = 0; i < stories; ++i) {
      begin_story();
      tell_one();
    }
    return std::move(faults_);
  }

 private:
  void tell_one() {
    if (of_.nodes.size() == 1) return restart();
    switch (dice_.between(0, of_.nodes.size() > 3 ? 8 : 6)) {
      case 0:
      case 1: return failover();
      case 2: return split();
      case 3: return change_over();
      case 4: return restart();
      case 5: return change_sides();
      case 7:
      case 8: return halves();
      default: return primary_of_nobody();
    }
  }

  // The primary dies, maybe while a replica lags; another one is promoted, and the others follow it.
  void failover() {
    const std::string next = other_than({primary_});
    if (dice_.one_in(3)) lag(next);
    Value& died = add(dice_.pick({"crash", "crash", "power-loss"}));
    set_key(died, "node", text_value(primary_));
    if (dice_.one_in(3)) set_key(died, "disk", text_value("lose"));
    set_key(died, "for", text_value(a_while()));
    hand_over(next);
  }

  // The primary is cut off with some clients, and goes on; it learns late, or never, that it is none.
  void split() {
    const std::string old = primary_, next = other_than({old});
    std::vector<std::string> here = {old}, there;
    for (const std::string& node : of_.nodes) {
      if (node != old) (node != next && dice_.one_in(5) ? here : there).push_back(node);
    }
    cut(here, there);
    promote(next);
    for (const std::string& node : of_.nodes) {
      if (node != next && node != old && dice_.percent(85)) follow(node, next);
    }
    if (dice_.percent(75)) {
      then(a_while());
      follow(old, next);
    }
    primary_ = next;
  }

  // Of four or more, two at least are on either side, with a primary each. Where a stranger is counted,
  // both sides have a majority.
  void halves() {
    const std::string old = primary_, next = other_than({old}), with_old = other_than({old, next});
    std::vector<std::string> there;
    for (const std::string& node : of_.nodes) {
      if (node != old && node != with_old) there.push_back(node);
    }
    cut({old, with_old}, there);
    promote(next);
    for (const std::string& node : there) follow(node, next);
    then(a_while());
    follow(old, next);
    follow(with_old, next);
    primary_ = next;
  }

  // An administrator changes over while all is well, in any order.
  void change_over() {
    if (dice_.one_in(3)) lag(other_than({primary_}));
    hand_over(other_than({primary_}));
  }

  // It comes back as a primary, and its replicas join it again.
  void restart() {
    Value& restarts = add(dice_.pick({"restart", "crash", "power-loss", "loading"}));
    const bool lasts = restarts.find("kind")->text != "restart";
    set_key(restarts, "node", text_value(dice_.percent(80) ? primary_ : dice_.pick(of_.nodes)));
    if (dice_.one_in(2)) set_key(restarts, "disk", text_value("lose"));
    if (lasts) set_key(restarts, "for", text_value(a_moment()));
  }

  // A replica follows another one for a while, and comes back.
  void change_sides() {
    const std::string leaves = other_than({primary_}), to = other_than({primary_, leaves});
    if (dice_.one_in(2)) promote(to);
    follow(leaves, to);
    then(a_while());
    follow(leaves, primary_);
    if (dice_.one_in(2)) follow(to, primary_);
  }

  // It takes itself for a primary, and is led back.
  void primary_of_nobody() {
    const std::string alone = other_than({primary_});
    promote(alone);
    then(dice_.one_in(2) ? a_while() : a_moment());
    follow(alone, primary_);
  }

  void hand_over(const std::string& next) {
    std::vector<std::pair<bool, std::string>> acts = {{true, next}};
    for (const std::string& node : of_.nodes) {
      if (node != next && dice_.percent(node == primary_ ? 60 : 90)) acts.emplace_back(false, node);
    }
    if (dice_.one_in(4)) std::rotate(acts.begin(), acts.begin() + 1, acts.end());
    for (const auto& [promotes, node] : acts) promotes ? promote(next) : follow(node, next);
    primary_ = next;
  }

  // These nodes from those, with clients on either side.
  void cut(const std::vector<std::string>& here, const std::vector<std::string>& there) {
    Value between = texts_value(here), other = texts_value(there);
    for (const std::string& client : of_.clients)
      (dice_.one_in(2) ? between : other).items.push_back(text_value(client));
    Value& partition = add("partition");
    set_key(partition, "between", std::move(between));
    set_key(partition, "and", std::move(other));
    set_key(partition, "for", text_value(a_while()));
  }
  void promote(const std::string& node) { set_key(add("promote"), "node", text_value(node)); }
  void follow(const std::string& node, const std::string& primary) {
    if (node == primary) return;
    Value& demoted = add("demote");
    set_key(demoted, "node", text_value(node));
    set_key(demoted, "primary", text_value(primary));
  }
  void lag(const std::string& node) {
    Value& lags = add("replication-lag");
    set_key(lags, "node", text_value(node));
    set_key(lags, "for", text_value(a_while()));
  }

  // The first act of a story mostly waits for something to happen at the lock, every other one for the one
  // before.
  Value& add(const std::string& kind) {
    Value fault;
    set_key(fault, "id", text_value("f" + std::to_string(faults_.size() + 1)));
    set_key(fault, "kind", text_value(kind));
    Value after;
    if (begins_ && (faults_.empty() || dice_.percent(70))) {
      const bool renewal = dice_.percent(40);
      std::uint64_t& nth = renewal ? renewals_ : grants_;
      nth += dice_.between(1, renewal ? 6 : 3);
      set_key(after, "event", text_value(renewal ? "lock.renewed" : "lock.granted"));
      set_key(after, "nth", integer_value(static_cast<std::int64_t>(nth)));
      if (dice_.percent(60)) set_key(after, "delay", text_value(a_moment()));
    } else {
      if (begins_) then(a_while());
      set_key(after, "fault", text_value(faults_.back().find("id")->text));
      set_key(after, "delay", text_value(delay_.empty() ? a_moment() : delay_));
    }
    begins_ = false;
    delay_.clear();
    set_key(fault, "after", std::move(after));
    faults_.push_back(std::move(fault));
    return faults_.back();
  }

  void begin_story() { begins_ = true; }
  void then(std::string delay) { delay_ = std::move(delay); }  // before the next act

  std::string other_than(const std::vector<std::string>& these) {
    std::vector<std::string> others;
    for (const std::string& node : of_.nodes) {
      if (std::find(these.begin(), these.end(), node) == these.end()) others.push_back(node);
    }
    return dice_.pick(others);
  }
  // Some round trips, or a good part of a lease; and one to three leases.
  std::string a_moment() {
    return format_duration(dice_.one_in(3) ? dice_.about_lease(of_.lease)
                                           : dice_.log_uniform(microseconds(100), of_.lease / 4));
  }
  std::string a_while() {
    return format_duration(
        std::max<Duration>(milliseconds(1), dice_.log_uniform(of_.lease / 2, 4 * of_.lease)));
  }

  const RoleStories& of_;
  Dice dice_;
  std::string primary_, delay_;
  std::vector<Value> faults_;
  std::uint64_t grants_ = 0, renewals_ = 0;  // up to which the stories have come
  bool begins_ = true;
};

}  // namespace

std::vector<Value> draw_roles(const RoleStories& of, Dice dice) { return Teller(of, dice).tell(); }

}  // namespace holdfast::sim
