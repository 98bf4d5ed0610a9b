#include "sim/comparators/ensemble.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace holdfast::sim {
namespace {

constexpr std::chrono::minutes kPatience{1};
constexpr std::chrono::milliseconds kAskEvery{20};

}  // namespace

void Ensemble::open_doors_of_members() {
  const std::size_t all = nodes().size();
  for (std::size_t i = 0; i < all; ++i) member(i).open_door();
  if (all == 1) return;
  for (std::size_t i = 0; i < all; ++i) {
    MemberNode& from = member(i);
    from.way_out_ = std::make_unique<SocksDoor>(world_);
    for (std::size_t j = 0; j < all; ++j) {
      for (const MemberNode::PeerDoor& door : member(j).peer_doors()) {
        // To itself past the proxy: no fault comes between.
        const Endpoint to =
            i == j ? door.listens : proxy_.expose_bus(member(j).name(), door.listens, from.name());
        from.way_out_->lead(door.known_as, to, door.listens);
      }
    }
  }
}

void Ensemble::side_by_side(const std::vector<std::function<void()>>& acts) {
  std::exception_ptr problem;
  {
    std::vector<Task> tasks;
    for (const auto& act : acts) {
      tasks.push_back(world_.harness().runtime().spawn("setup", [&act, &problem] {
        try {
          act();
        } catch (const std::exception&) {
          if (!problem) problem = std::current_exception();
        }
      }));
    }
  }  // joined
  if (problem) std::rethrow_exception(problem);
}

void Ensemble::wait_until(const std::string& what, const std::function<bool()>& done) {
  Runtime& runtime = world_.harness().runtime();
  const MonotonicTime limit = deadline_after(runtime.now(), kPatience);
  std::string why;
  for (;;) {
    try {
      if (done()) return;
    } catch (const std::runtime_error& error) {
      why = std::string(": ") + error.what();
    }
    if (runtime.now() >= limit) throw std::runtime_error(what + " in a minute" + why);
    runtime.sleep_for(kAskEvery);
  }
}

std::optional<std::string> Ensemble::leader() {
  std::optional<std::string> found;
  std::uint64_t term = 0;
  for (std::size_t i = 0; i < nodes().size(); ++i) {
    const std::optional<std::uint64_t> its = member(i).leads();
    if (!its || (found && *its <= term)) continue;
    found = member(i).name();
    term = *its;
  }
  return found;
}

void Ensemble::watch_leader() {
  if (nodes().size() == 1) return;
  struct Known {
    std::uint64_t term = 0;
    std::string leader;
  };
  const auto known = std::make_shared<Known>();
  for (std::size_t i = 0; i < nodes().size(); ++i) {
    if (const auto term = member(i).leads(); term && *term >= known->term)
      *known = {.term = *term, .leader = member(i).name()};
  }
  // One task each: who does not answer keeps nobody from being asked.
  for (std::size_t i = 0; i < nodes().size(); ++i) {
    world_.harness().start("roles", [this, i, known] {
      for (;;) {
        MemberNode& asked = member(i);
        const std::optional<std::uint64_t> term = asked.running() ? asked.leads() : std::nullopt;
        if (term && *term > known->term) {
          const std::string before = std::exchange(known->leader, asked.name());
          known->term = *term;
          if (on_role_changed && before != asked.name()) {
            on_role_changed(before, false);
            on_role_changed(asked.name(), true);
          }
        }
        world_.harness().runtime().sleep_for(kAskEvery);
      }
    });
  }
}

}  // namespace holdfast::sim
