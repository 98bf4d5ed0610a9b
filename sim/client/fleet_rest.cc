// The client that comes when all is over.
#include <vector>

#include "sim/client/fleet.h"

namespace holdfast::sim {
namespace {

const std::string kRest(checker::kRestClient);

// Asks for `key` with as many threads as there are permits. What they are granted they hold until all of
// them were answered; all but the first give it back once and ask again, for a permit that is lost when it
// is given back comes again when nobody has any.
void ask_for_all(const std::string& key, int permits,
                 const std::function<void(const std::function<void(WorkThread&)>&, int number)>& on_thread,
                 Runtime& runtime) {
  int unanswered = permits;
  std::vector<Parker*> waiting;
  const auto ask = [&](WorkThread& thread) {
    const std::shared_ptr<Lock> lock = thread.obtain(key);
    bool granted = thread.acquire(*lock);
    if (granted && thread.number() > 0) {
      thread.release(*lock);
      granted = thread.acquire(*lock);
    }
    if (--unanswered == 0) {
      for (Parker* const each : waiting) each->unpark();
    } else {
      Parker& mine = runtime.parker();
      waiting.push_back(&mine);
      while (unanswered > 0) mine.park_until(kNever);
    }
    if (granted) thread.release(*lock);
  };
  std::vector<Task> others;
  for (int number = 1; number < permits; ++number) {
    others.push_back(runtime.spawn(kRest, [&, number] { on_thread(ask, number); }));
  }
  on_thread(ask, 0);
  for (Task& task : others) task.join();
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
    const int permits = kind_.counts_permits ? options_.permits : 1;
    for (const std::string& key : keys()) {
      ask_for_all(
          key, permits,
          [&](const auto& ask, int number) {
            WorkThread thread(world_, process, asking, not_counted, recorder, *own.servers.front(),
                              own.locks.get(), nullptr, key, number);
            ask(thread);
          },
          process.runtime());
    }
    over = true;
    done.unpark();
  });
  while (!over) done.park_until(kNever);
}

}  // namespace holdfast::sim
