// Past: what each party of an embedded world has gone through, as a digest, and who shared what with whom at
// one moment. It is kept for explorations (sim/explore): no run goes otherwise because somebody looks.
//
// A party is what shares memory: the tasks of a process, or tasks that stand apart() from the rest of theirs.
// Between parties go messages, and each of these takes its time. So what a party does at one moment depends
// on nothing that another does at that moment, unless both share() something; whose tasks go first is of no
// consequence then.
//
// A digest folds, in their order, the turns of the party's tasks with the time of each, what they read from
// streams, what was drawn in them, and where a shared thing was touched by several at one moment, who came
// before. All else that a task is told follows from these of all parties: the world is a function of its
// draws and of its order. So two runs that come to the same state() had the same past but for the order of
// things that have nothing to do with each other, and go on alike. (Mazurkiewicz, Trace Theory, 1987; as
// hashes: Musuvathi and Qadeer, Partial-Order Reduction for Context-Bounded State Exploration, 2007.)
//
// Thread safety: one world's, as the world.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/trace.h"

namespace holdfast::fibers {
struct Fiber;
class FiberQueue;
}  // namespace holdfast::fibers

namespace holdfast::sim {

using fibers::Fiber;
using fibers::FiberQueue;
struct ProcessGroup;
class World;

class Past {
 public:
  struct Party;
  Past();
  ~Past();
  Past(const Past&) = delete;
  Past& operator=(const Past&) = delete;

  // How a task touches what parties share. Two of one moment are in each other's way, unless both read or
  // both add: in what order several added does not matter, whether before or after a write does.
  enum class Access : std::uint8_t { read, add, write };

  // --- for parties: of the running task; nothing while none runs ------------------------------------------
  void share(std::string_view thing, Access access);
  // The running task, and those that it starts from now on, are a party of that name.
  void apart(std::string_view name);
  void took(std::uint64_t word);
  void took(std::string_view bytes);
  // It may change anything of anybody: a fault acts.
  void meet_all();

  // --- for who explores -----------------------------------------------------------------------------------
  // Called when a moment has come: all that is due has come up, and nothing of it has run. `crossed`: of the
  // moment before. False: the run ends here.
  void on_moment(std::function<bool(bool crossed)> told) { told_ = std::move(told); }
  // Of the moment that has come. REQUIRES: no turn of it was taken yet. `without`: parties whose names begin
  // so are left out, as if what they have gone through followed from the others; tests show that it does not.
  std::uint64_t state(const std::vector<std::string>& without = {}) const;
  bool crossed() const { return crossed_; }  // two parties were in each other's way, at this moment so far
  bool cut() const { return cut_; }          // on_moment() said so
  // Of those among whom one is to be chosen just now: whether it is of the party of the first.
  const std::vector<bool>& alike() const { return alike_; }
  std::vector<std::string> tasks() const;       // and their names: "c1/worker", "proxy/c1→r1"
  std::int64_t now_ns() const { return now_; }  // of the present moment

  // --- for the world --------------------------------------------------------------------------------------
  bool moment(std::int64_t now, const FiberQueue& ready);
  void started(Fiber& fiber, ProcessGroup& group);
  void turn(Fiber& fiber, std::int64_t now);
  // The running task does something to a task, or to all of a process, without a message.
  void reach(Fiber& fiber);
  void reach(ProcessGroup& group);
  void choice(const FiberQueue& ready);
  // The order in which connections come to a listener is that in which they were asked for.
  void asks_to_connect(std::string_view where);
  void asked_to_connect();

 private:
  struct Thing;
  Party& party(std::string_view name);
  static Party* party_of(const Fiber& fiber);
  void reach(Party& party);

  std::map<std::string, std::unique_ptr<Party>, std::less<>> parties_;
  std::map<std::string, Thing, std::less<>> things_;
  std::deque<std::uint64_t> connecting_;
  std::function<bool(bool)> told_;
  std::vector<bool> alike_;
  const FiberQueue* choosing_ = nullptr;
  Party* runs_ = nullptr;  // whose task runs; null: none does
  Fiber* running_ = nullptr;
  std::uint64_t moment_ = 1;
  std::int64_t now_ = 0;
  std::uint64_t order_ = 0;  // of those that are ready when the moment comes, party by party
  bool crossed_ = false, cut_ = false;
};

// The past that is kept of that world; null: nobody asked.
Past* past_of(const World& world);

}  // namespace holdfast::sim
