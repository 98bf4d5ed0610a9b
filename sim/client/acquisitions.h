// Acquisitions: what a client's recorder remembers of each acquisition, found by the lock's own (or the
// server's) name for it. Bounded, by more than all of its tasks can have under way: late commands of older
// acquisitions go unnamed. Steady use allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "lib/runtime/time.h"

namespace holdfast::sim {

struct Acquisition {
  std::string record;                    // the lock's own name for it
  checker::Symbol id = 0;                // "c1-7"
  bool held = false;                     // never forgotten while it is
  bool granting = false;                 // told by the observer, until acquire_ok
  bool was_held = false;                 // acquire_ok came; not held any more: its name is free again
  bool asked_again = false;              // or new, since it was due to be forgotten: not yet
  std::optional<MonotonicTime> sent_at;  // of the grant
  checker::Symbol node = 0;              // who granted

 private:
  friend class Acquisitions;
  std::size_t hash = 0;
  Acquisition* next = nullptr;  // in its bucket
};

class Acquisitions {
 public:
  static constexpr std::size_t kRemembered = 256;

  // So many tasks ask: four of each are remembered, where that is more.
  void room_for(std::size_t tasks) { remembered_ = std::max(remembered_, 4 * tasks); }
  // Null: not known, or forgotten. Good until the next add().
  Acquisition* find(std::string_view record);
  // A new one, for which the oldest ones are forgotten that are not held and were not asked for again:
  // kRemembered stay, or as many as there is room for, or as are held or in use. What is forgotten keeps its
  // address and is used again under another id. REQUIRES: not known.
  Acquisition& add(std::string_view record, checker::Symbol id);
  // The same record is held anew, under another id: designs that name the owner, not the acquisition.
  static void begin_anew(Acquisition& acquisition, checker::Symbol id);
  // None is held any more: their process is dead.
  void all_over();

 private:
  Acquisition*& bucket(std::size_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  void forget(Acquisition& acquisition);
  void grow();

  std::size_t remembered_ = kRemembered;
  std::deque<Acquisition> storage_;
  std::vector<Acquisition*> free_;
  std::deque<Acquisition*> order_;  // oldest first; one that was due and is held or in use goes to the back
  std::vector<Acquisition*> buckets_ = std::vector<Acquisition*>(2 * kRemembered);  // a power of two
  Acquisition* latest_ = nullptr;  // found or added last: it is asked for several times in a row
};

// Renewals of a client that are under way. A lock may call its next hold the same, so an answer is for the
// hold that was renewed, not for the one that has the name now. Bounded: some locks never answer for a hold
// that is over.
class Renewals {
 public:
  void begun(checker::Symbol key, std::string_view record, checker::Symbol id);
  // Which of them is answered: that of `id`, who has the name now, else the oldest; `id` if there is none.
  checker::Symbol answered(checker::Symbol key, std::string_view record, checker::Symbol id);
  void all_over() { under_way_.clear(); }
  // So many tasks hold.
  void room_for(std::size_t tasks) { remembered_ = std::max(remembered_, 4 * tasks); }

 private:
  struct Renewal {
    checker::Symbol key, id;
    std::string record;
  };
  static constexpr std::size_t kRemembered = 64;
  std::size_t remembered_ = kRemembered;
  std::deque<Renewal> under_way_;  // oldest first
};

}  // namespace holdfast::sim
