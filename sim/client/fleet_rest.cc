// The client that comes when all is over, and asks for all keys at once.
#include <set>
#include <string>
#include <vector>

#include "sim/client/fleet.h"

namespace holdfast::sim {
namespace {

const std::string kRest(checker::kRestClient);

// One of those who ask.
struct Asker {
  std::string key;
  int number = 0;  // of its thread
  bool again = false;
};

// For each key as many as there are permits. All but the first of a key give back once what they were
// granted, and ask again: a permit that is lost when it is given back comes again when nobody has any.
std::vector<Asker> askers_of(const std::set<std::string>& keys, int permits) {
  std::vector<Asker> askers;
  for (const std::string& key : keys) {
    for (int i = 0; i < permits; ++i)
      askers.push_back({.key = key, .number = static_cast<int>(askers.size()), .again = i > 0});
  }
  return askers;
}

}  // namespace

void Fleet::rest(Duration patience) {
  if (kind_.make == nullptr) return;
  WorkloadOptions asking = options_;
  asking.wait = patience;
  asking.readers = asking.interrupts = 0;
  asking.evict.reset();
  asking.release = Release::always;
  WorkloadStats not_counted;

  ClientRecorder& recorder = recorder_.client(kRest);
  Process& process = world_.add_process(kRest);
  recorder.started(process, options_.lease);
  bool over = false;
  Parker& done = world_.harness().runtime().parker();
  process.start(kRest, [&] {
    const Equipment own = equip(recorder, kRest, process);
    const std::vector<Asker> askers = askers_of(keys(), kind_.counts_permits ? options_.permits : 1);
    // What they are granted they hold until all were answered.
    std::size_t unanswered = askers.size();
    std::vector<Parker*> waiting;
    const auto ask = [&](const Asker& asker) {
      WorkThread thread(world_, process, asking, not_counted, recorder, *own.servers.front(), own.locks.get(),
                        nullptr, asker.key, asker.number);
      const std::shared_ptr<Lock> lock = thread.obtain(asker.key);
      bool granted = thread.acquire(*lock);
      if (granted && asker.again) {
        thread.release(*lock);
        granted = thread.acquire(*lock);
      }
      if (--unanswered == 0) {
        for (Parker* const each : waiting) each->unpark();
      } else {
        Parker& mine = process.runtime().parker();
        waiting.push_back(&mine);
        while (unanswered > 0) mine.park_until(kNever);
      }
      if (granted) thread.release(*lock);
    };
    std::vector<Task> others;
    for (std::size_t i = 1; i < askers.size(); ++i)
      others.push_back(process.runtime().spawn(kRest, [&, i] { ask(askers[i]); }));
    ask(askers.front());
    others.clear();
    over = true;
    done.unpark();
  });
  while (!over) done.park_until(kNever);
}

}  // namespace holdfast::sim
