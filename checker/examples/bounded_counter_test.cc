// A model of your own, from the first line to the verdict: a counter that must not go below zero.
//
// Its operations are the register's: write adds its value, read sees the sum.
#include <gtest/gtest.h>

#include "checker/history/history_jsonl.h"
#include "checker/linearizability/linearizability.h"

namespace {

using namespace holdfast::checker;

class BoundedCounter : public Model {
 public:
  State initial() const override { return {0}; }
  bool locks() const override { return false; }   // read and write, not acquire and release
  bool owners() const override { return false; }  // step() reads no owner
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::read) return state[0] == operation.value;
    state[0] += operation.value.number_or(0);
    return state[0] >= 0;
  }
};

TEST(Example, AModelOfYourOwn) {
  const History history = from_jsonl(
      R"({"process":"a","type":"invoke","f":"write","value":2,"time":1}
         {"process":"b","type":"invoke","f":"write","value":-3,"time":2}
         {"process":"a","type":"ok","f":"write","value":2,"time":3}
         {"process":"c","type":"invoke","f":"write","value":1,"time":4}
         {"process":"b","type":"ok","f":"write","value":-3,"time":5}
         {"process":"c","type":"ok","f":"write","value":1,"time":6}
         {"process":"d","type":"invoke","f":"read","time":7}
         {"process":"d","type":"ok","f":"read","value":0,"time":8}
      )");
  const BoundedCounter counter;
  LinearizabilityOptions options;
  options.own_model = &counter;
  EXPECT_EQ(check_linearizable(history, options).outcome, Outcome::holds);
  // Without the third write the counter would go below zero.
  EXPECT_EQ(check_linearizable(history.subset({0, 1, 2, 4}), options).outcome, Outcome::violated);
}

}  // namespace
