// What counts as new: marks beside faults.
#include "sim/hunt/coverage.h"

#include <gtest/gtest.h>

#include "checker/history/effects.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::History;

class Told {
 public:
  Told& fault(const char* kind, std::int64_t value, std::string_view mode = "") {
    Event event = at(Function::fault);
    event.key = history_.intern("f1");
    event.id = history_.intern("f1#1");
    event.error = history_.intern(kind);
    event.mode = history_.intern(std::string(mode));
    event.value = checker::Value(value);
    history_.append(event);
    return *this;
  }
  Told& mark(const char* name) {
    Event event = at(Function::mark);
    event.key = history_.intern(name);
    history_.append(event);
    return *this;
  }
  std::size_t features() const { return features_of(history_).size(); }

 private:
  Event at(Function f) {
    Event event;
    event.time_ns = ++time_;
    event.f = f;
    event.type = EventType::info;
    event.process = history_.intern("nemesis");
    return event;
  }

  History history_;
  std::int64_t time_ = 0;
};

TEST(CoverageOfMarks, OneAloneIsOneFeature) {
  EXPECT_EQ(Told().mark("lock.granted").features(), 1u);
  EXPECT_EQ(Told().mark("lock.granted").mark("lock.granted").features(), 1u);
}

TEST(CoverageOfMarks, OneBesideAFaultIsAnother) {
  EXPECT_EQ(Told().fault("stall", 1).mark("lock.granted").features(), 2u);
  EXPECT_EQ(Told().fault("stall", 1).fault("stall", 0).mark("lock.granted").features(), 1u);
  EXPECT_EQ(Told().fault("stall", 1).fault("cut", 1).mark("lock.granted").features(), 3u);
}

TEST(CoverageOfMarks, OneAfterAFaultThatIsOverAtOnceIsAnother) {
  EXPECT_EQ(Told().fault("promote", 1, checker::kAtOnce).mark("lock.granted").features(), 2u);
  EXPECT_EQ(Told().mark("lock.granted").fault("promote", 1, checker::kAtOnce).features(), 1u);
}

TEST(CoverageOfMarks, AFaultsOwnMarkStandsAlone) {
  EXPECT_EQ(Told().fault("stall", 1).mark("fault.f1").features(), 1u);
}

}  // namespace
}  // namespace holdfast::sim
