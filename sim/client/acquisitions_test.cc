#include "sim/client/acquisitions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>

namespace holdfast::sim {
namespace {

// Against a plain list of what is remembered, with now few, now more held than are remembered.
TEST(Acquisitions, RemembersTheLatestAndTheHeld) {
  struct Known {
    std::string record;
    checker::Symbol id;
    bool held;
    bool is_new = true;  // it was not due to be forgotten yet
  };
  std::minstd_rand draw(7);
  Acquisitions acquisitions;
  std::deque<Known> model;  // in the order in which they would be forgotten
  checker::Symbol next = 1;
  for (int step = 0; step < 30'000; ++step) {
    const std::string record = "uuid:" + std::to_string(step);
    ASSERT_EQ(acquisitions.find(record), nullptr);
    for (std::size_t look = model.size(); look > 0 && model.size() >= Acquisitions::kRemembered; --look) {
      Known oldest = model.front();
      model.pop_front();
      const bool was_new = std::exchange(oldest.is_new, false);
      if (oldest.held || was_new) model.push_back(oldest);
    }
    const bool held = step % 10'000 < 1'000 || draw() % 3 == 0;
    acquisitions.add(record, next).held = held;
    model.push_back({record, next++, held});
    const std::size_t releases = step % 10'000 > 5'000 ? 3 : 0;
    for (std::size_t i = 0; i < releases; ++i) {
      Known& known = model[draw() % model.size()];
      known.held = acquisitions.find(known.record)->held = false;
    }
    if (step % 1'000 != 0) continue;
    for (int old = std::max(0, step - 900); old <= step; ++old) {
      const std::string name = "uuid:" + std::to_string(old);
      const auto known =
          std::find_if(model.begin(), model.end(), [&](const Known& known) { return known.record == name; });
      const Acquisition* const found = acquisitions.find(name);
      ASSERT_EQ(found != nullptr, known != model.end()) << name;
      if (found == nullptr) continue;
      ASSERT_EQ(found->id, known->id);
      ASSERT_EQ(found->held, known->held);
    }
    for (const Known& known : model) ASSERT_NE(acquisitions.find(known.record), nullptr);
  }
}

// Of two that ask at once, the first must have its name still when it is granted.
TEST(Acquisitions, TheNewestStaysWhereAllOthersAreInUse) {
  Acquisitions acquisitions;
  for (std::size_t i = 0; i < Acquisitions::kRemembered; ++i)
    acquisitions.add("old:" + std::to_string(i), static_cast<checker::Symbol>(i + 1)).asked_again = true;
  acquisitions.add("first", 1000);
  for (std::size_t i = 0; i < Acquisitions::kRemembered; ++i)
    acquisitions.find("old:" + std::to_string(i))->asked_again = true;
  acquisitions.add("second", 1001);
  ASSERT_NE(acquisitions.find("first"), nullptr);
  EXPECT_EQ(acquisitions.find("first")->id, 1000U);
}

TEST(Acquisitions, WhereManyTasksAskMoreAreRemembered) {
  constexpr std::size_t kTasks = 400;
  Acquisitions acquisitions;
  acquisitions.room_for(kTasks);
  for (std::size_t i = 0; i < 4 * kTasks; ++i)
    acquisitions.add(std::to_string(i), 1 + static_cast<checker::Symbol>(i));
  for (std::size_t i = 0; i < 4 * kTasks; ++i) ASSERT_NE(acquisitions.find(std::to_string(i)), nullptr) << i;
  for (std::size_t i = 0; i < 4 * kTasks; ++i) acquisitions.add("later:" + std::to_string(i), 5000);
  EXPECT_EQ(acquisitions.find("0"), nullptr) << "but not for ever";
}

TEST(Renewals, WhereManyTasksHoldMoreAreRemembered) {
  constexpr std::size_t kTasks = 100;
  Renewals renewals;
  renewals.room_for(kTasks);
  for (checker::Symbol i = 0; i < 4 * kTasks; ++i) renewals.begun(i, "record", i + 1000);
  EXPECT_EQ(renewals.answered(0, "record", 7), 1000U);
}

TEST(Acquisitions, NobodyHoldsAfterTheEndOfTheirProcess) {
  Acquisitions acquisitions;
  Acquisition& held = acquisitions.add("held", 1);
  held.held = held.granting = true;
  acquisitions.all_over();
  EXPECT_FALSE(held.held);
  EXPECT_FALSE(held.granting);
  for (std::size_t i = 0; i <= Acquisitions::kRemembered; ++i) acquisitions.add(std::to_string(i), 2);
  EXPECT_EQ(acquisitions.find("held"), nullptr);
}

}  // namespace
}  // namespace holdfast::sim
