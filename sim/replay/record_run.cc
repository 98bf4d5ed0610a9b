#include "sim/replay/record_run.h"

#include <algorithm>
#include <utility>

#include "checker/checks/check.h"
#include "checker/history/history.h"
#include "checker/story/text_layout.h"
#include "sim/replay/beliefs.h"
#include "sim/replay/recording.h"

namespace holdfast::sim {
namespace {

// Where the witnesses of the checks are in time, those with two owners first.
std::vector<Replay::Place> places_of(const RunResult& run, const Replay& replay) {
  const auto& events = run.history.events();
  const std::int64_t start_ns = events.empty() ? 0 : events.front().time_ns;
  std::vector<Replay::Place> places;
  const auto thread = [&](std::size_t position) {
    const std::string_view process = run.history.text(events[position].process);
    const std::string name = checker::printable(process.substr(0, process.find('#')));
    return std::find(replay.threads.begin(), replay.threads.end(), name);
  };
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    const std::string& check = run.questions.asked[i].check;
    if (run.verdicts[i].outcome != checker::Outcome::violated || check == "reached") continue;
    for (const checker::Witness& witness : run.verdicts[i].witnesses) {
      Replay::Place place{.check = check,
                          .kind = witness.kind,
                          .key = checker::printable(witness.key),
                          .why = checker::printable(witness.why)};
      std::vector<std::size_t> at = witness.events;
      if (witness.acquires) at = {witness.acquires->first, witness.acquires->second};
      if (at.empty()) continue;
      place.first_ns = events[at.front()].time_ns - start_ns;
      for (const std::size_t position : at) {
        place.first_ns = std::min(place.first_ns, events[position].time_ns - start_ns);
        place.at_ns = std::max(place.at_ns, events[position].time_ns - start_ns);
        const auto found = thread(position);
        const auto number = static_cast<std::size_t>(found - replay.threads.begin());
        const auto& known = place.threads;
        if (found != replay.threads.end() && std::find(known.begin(), known.end(), number) == known.end())
          place.threads.push_back(number);
      }
      const bool stretch = witness.from_ns != 0 || witness.to_ns != 0;
      place.from_ns = stretch ? witness.from_ns - start_ns : place.at_ns;
      place.to_ns = stretch ? std::min(witness.to_ns - start_ns, replay.end_ns) : place.at_ns;
      places.push_back(std::move(place));
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Replay::Place& a, const Replay::Place& b) {
    return (a.threads.size() > 1) > (b.threads.size() > 1);
  });
  return places;
}

}  // namespace

Recorded record_run(const Scenario& scenario, const ReplayOptions& options) {
  Recording recording(options);
  // What is fixed is so by what it answers; so it is told of those decisions, too.
  Decisions decisions(Changes{.fixed = {}, .reseeds = options.changes.reseeds});
  decisions.steer([&](const std::string& stream, std::uint64_t number, const Drawn& drawn) {
    return recording.draws(stream, number, drawn);
  });
  Recorded recorded;
  recorded.run =
      run_once(scenario,
               {.seed = options.seed, .keep_history = true, .decisions = &decisions, .observer = &recording});
  Replay& replay = recorded.replay;
  replay = recording.finish(recorded.run.history);
  replay.title = checker::printable(scenario.title());
  replay.about = checker::printable(scenario.about);
  replay.lock = scenario.lock->name;
  replay.seed = options.seed;
  replay.trace = recorded.run.trace;
  for (std::size_t i = 0; i < recorded.run.verdicts.size(); ++i) {
    const checker::Verdict& verdict = recorded.run.verdicts[i];
    replay.verdicts.push_back({.check = recorded.run.questions.asked[i].check,
                               .outcome = std::string(checker::to_string(verdict.outcome)),
                               .reason = checker::printable(verdict.reason)});
  }
  replay.places = places_of(recorded.run, replay);
  return recorded;
}

}  // namespace holdfast::sim
