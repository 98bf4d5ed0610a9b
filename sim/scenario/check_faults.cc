// What the faults of a file must be together, so that none of them waits for what never comes.
#include <algorithm>
#include <map>
#include <set>

#include "sim/scenario/parse_fault.h"

namespace holdfast::sim {
namespace {

class FaultsOfAFile {
 public:
  FaultsOfAFile(const std::vector<Value>& tables, const std::vector<FaultPlan>& faults, Duration run_time)
      : tables_(tables), faults_(faults), run_time_(run_time) {}

  void check() const {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const FaultPlan& fault = faults_[i];
      if (!fault.enabled) continue;
      waits_for(i);
      is_in_time(i);
      ends(i);
      if (!fault.during.empty()) acts_beside(i);
    }
  }

 private:
  const FaultPlan& named(const std::string& id) const {
    return *std::find_if(faults_.begin(), faults_.end(),
                         [&](const FaultPlan& fault) { return fault.config.id == id; });
  }
  static std::string called(const FaultPlan& fault) { return "fault `" + fault.config.id + "`"; }
  // Where `key` of a fault stands; of `after`, its key `inner`.
  Position at(std::size_t number, std::string_view key, std::string_view inner = "") const {
    const Value* value = tables_[number].find(key);
    if (value == nullptr) return tables_[number].at;
    const Value* const within = inner.empty() ? nullptr : value->find(inner);
    return within == nullptr ? value->at : within->at;
  }

  // Follows `after = { fault = ... }` from one fault to the next.
  void waits_for(std::size_t number) const {
    std::set<std::string> seen;
    const FaultPlan* fault = &faults_[number];
    while (fault->trigger.kind == Trigger::Kind::fault) {
      const FaultPlan& next = named(fault->trigger.fault);
      if (&next == &faults_[number]) {
        throw BadScenario(at(number, "after", "fault"),
                          called(faults_[number]) +
                              " waits for itself to act, expected another fault, an event or a "
                              "time to begin with");
      }
      if (!next.enabled) {
        throw BadScenario(at(number, "after", "fault"),
                          called(faults_[number]) + " waits for " + called(next) +
                              ", which is not enabled, expected one that is; set enabled = false for both");
      }
      if (!seen.insert(next.config.id).second) return;  // a circle that this one is not in: told there
      fault = &next;
    }
  }

  void ends(std::size_t number) const {
    const FaultPlan& fault = faults_[number];
    if (!fault.until || fault.until->kind != Trigger::Kind::fault) return;
    const FaultPlan& other = named(fault.until->fault);
    if (other.enabled && &other != &fault) return;
    throw BadScenario(at(number, "until", "fault"),
                      called(fault) + " lasts until " +
                          (&other == &fault ? "it begins itself" : called(other)) +
                          (&other == &fault ? ", expected another fault"
                                            : ", which is not enabled, expected one that is; set enabled = "
                                              "false for both"));
  }

  void is_in_time(std::size_t number) const {
    const Trigger& trigger = faults_[number].trigger;
    const bool timed = trigger.kind == Trigger::Kind::at || trigger.kind == Trigger::Kind::every;
    if (!timed || trigger.time.low < run_time_) return;
    const char* const key = trigger.kind == Trigger::Kind::at ? "at" : "every";
    throw BadScenario(at(number, key), "`" + std::string(key) + "` is " + format_duration(trigger.time.low) +
                                           ", but the run ends at " + format_duration(run_time_) +
                                           " ([run] time), expected an earlier time");
  }

  void acts_beside(std::size_t number) const {
    const FaultPlan& fault = faults_[number];
    const FaultPlan& other = named(fault.during);
    const Position where = at(number, "during");
    const std::string names = "`during` names " + called(other);
    if (&other == &fault)
      throw BadScenario(where, called(fault) + " acts only while it acts itself, expected another fault");
    if (!other.enabled) {
      throw BadScenario(where,
                        names + ", which is not enabled, expected one that is; set enabled = false for both");
    }
    if (other.kind->at_once && !other.heals()) {
      throw BadScenario(where,
                        names + " (" + std::string(other.kind->name) +
                            "), which is over as soon as it acted, expected a fault that lasts; to act later "
                            "than it, use after = { fault = \"" +
                            other.config.id + "\" }");
    }
    if (fault.trigger.kind != Trigger::Kind::at || other.trigger.kind != Trigger::Kind::at) return;
    const DurationRange &mine = fault.trigger.time, &its = other.trigger.time;
    const bool too_early = mine.high < its.low;
    const bool too_late = other.lasts && mine.low > its.high + other.lasts->high;
    if (too_early || too_late) {
      throw BadScenario(where, names + ", which " + (too_early ? "begins later" : "is over by then") +
                                   ", expected a time at which it acts");
    }
  }

  const std::vector<Value>& tables_;
  const std::vector<FaultPlan>& faults_;
  const Duration run_time_;
};

}  // namespace

void check_faults(const std::vector<Value>& tables, const std::vector<FaultPlan>& faults, Duration run_time) {
  FaultsOfAFile(tables, faults, run_time).check();
}

}  // namespace holdfast::sim
