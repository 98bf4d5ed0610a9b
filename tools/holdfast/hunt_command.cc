// `holdfast hunt`: looks for broken promises in cases that it draws, makes each find small, and writes it as
// a scenario file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "sim/hunt/case_file.h"
#include "sim/hunt/hunt.h"
#include "sim/hunt/shrink.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/case_story.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/for_each.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {
namespace {

using Clock = std::chrono::steady_clock;

sim::Ground ground_of(const HuntArguments& arguments) {
  const sim::LockKind* const lock = sim::find_lock_kind(arguments.what);
  if (lock == nullptr && !arguments.what.ends_with(".toml")) {
    std::vector<std::string> names;
    for (const sim::LockKind& kind : sim::all_lock_kinds()) names.emplace_back(kind.name);
    throw BadUsage("hunt: `" + arguments.what +
                   "` is no lock and no scenario file (*.toml), expected such as " + names.front() +
                   sim::did_you_mean(arguments.what, names));
  }
  sim::Ground ground = lock != nullptr ? sim::ground_of(*lock) : sim::ground_of_file(arguments.what);
  if (arguments.bounds == "promised") ground.bounds = sim::Ground::Bounds::promised;
  if (arguments.bounds == "anything") ground.bounds = sim::Ground::Bounds::anything;
  ground.targets = arguments.targets;
  ground.swarm = arguments.swarm;
  return ground;
}

// A find, made small. What had several names may have one now.
struct Finished {
  const sim::Find* find = nullptr;
  sim::Failure failure;  // of the small case
  std::uint64_t count = 0;
  sim::Shrunk shrunk;
  sim::CaseFile file;
};

Finished make_small(const HuntArguments& arguments, const sim::Ground& ground, const sim::Find& find) {
  Finished done;
  done.find = &find;
  done.failure = find.failure;
  done.count = find.count;
  done.shrunk.one = find.first;
  const std::string promise = find.failure.promise();
  if (find.failure.of_harness() || !arguments.shrink) return done;
  done.shrunk = sim::shrink(ground, find.first, promise, {.stop = interrupted});
  for (const sim::Failure& failure : sim::try_case(done.shrunk.one).failures) {
    if (failure.promise() == promise) done.failure = failure;
  }
  return done;
}

// The smallest of each name, in the order of the first runs.
std::vector<Finished> of_one_name_each(std::vector<Finished> all) {
  std::vector<Finished> kept;
  for (Finished& one : all) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Finished& other) {
      return other.failure.name() == one.failure.name();
    });
    if (same == kept.end()) {
      kept.push_back(std::move(one));
      continue;
    }
    const std::uint64_t count = same->count + one.count;
    const auto cost = [](const Finished& it) { return sim::size_of(it.shrunk.one.document).cost(); };
    if (cost(one) < cost(*same)) *same = std::move(one);
    same->count = count;
  }
  return kept;
}

sim::CaseFile file_of(const Finished& done, const sim::Ground& ground) {
  if (done.failure.of_harness()) return sim::case_file_of_harness(done.find->first, done.failure);
  return sim::case_file(ground, done.shrunk, done.failure, story_of(done.shrunk.one, done.failure, kInAFile));
}

std::string progress_line(const sim::HuntState& state, double seconds) {
  std::uint64_t violated = 0;
  std::string newest;
  std::uint64_t newest_run = 0;
  for (const auto& [name, find] : state.finds) {
    violated += find.count;
    if (newest.empty() || find.run > newest_run) {
      newest = name;
      newest_run = find.run;
    }
  }
  return fmt::format("{} runs, {:.0f}/s, {:.1f} virtual hours, {} features, corpus {}, {} finds in {} runs{}",
                     state.runs, static_cast<double>(state.runs) / std::max(seconds, 1e-3),
                     static_cast<double>(state.virtual_ns) / 3.6e12, state.features, state.corpus,
                     state.finds.size(), violated, newest.empty() ? "" : " · " + for_terminal(newest));
}

std::string size_text(const sim::Value& document) {
  const sim::Size size = sim::size_of(document);
  const auto many = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return many(size.faults, "fault") + ", " + many(size.tasks, "task") + ", " +
         many(size.operations, "operation");
}

std::string report(const Finished& done, const std::string& path, const Terminal& terminal) {
  const sim::Find& find = *done.find;
  std::string text = fmt::format("{} {}: first in run {}, in {} run{}\n", bad_sign(terminal),
                                 for_terminal(done.failure.name(), terminal), find.run, done.count,
                                 done.count == 1 ? "" : "s");
  if (find.failure.of_harness())
    text += "    a defect of the harness: " + for_terminal(find.failure.why, terminal) + "\n";
  if (done.shrunk.runs > 0) {
    text +=
        fmt::format("    from {} to {}, in {} runs; shows on {} of 20 seeds{}\n",
                    size_text(find.first.document), size_text(done.shrunk.one.document), done.shrunk.runs,
                    done.shrunk.seeds_of_20, done.file.controlled ? "" : "; no variant in which it holds");
  }
  if (!path.empty()) text += fmt::format("    {}\n", for_terminal(path, terminal));
  return text;
}

std::string write(const HuntArguments& arguments, const sim::CaseFile& file) {
  if (arguments.out.empty()) return "";
  const std::string path = (std::filesystem::path(arguments.out) / (file.name + ".toml")).string();
  write_file(path, file.toml);
  if (!file.decisions.empty())
    write_file((std::filesystem::path(arguments.out) / (file.name + ".decisions")).string(), file.decisions);
  return path;
}

// Marks that any lock can reach, and nobody did.
std::string missed_marks(const sim::HuntState& state) {
  std::string text;
  for (const char* const mark : {"lock.granted", "lock.waiting", "lock.refused", "lock.renewed", "lock.lost",
                                 "lock.released", "client.crashed"}) {
    if (!state.marks.contains(mark)) text += (text.empty() ? "" : ", ") + std::string(mark);
  }
  return text;
}

}  // namespace

ExitCode hunt_command(const HuntArguments& arguments) {
  const sim::Ground ground = ground_of(arguments);
  if (!arguments.out.empty()) require_writable_folder("--out", arguments.out);
  keep_interrupts();
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Progress progress(0, "runs", false);
  const double limit = arguments.time ? std::chrono::duration<double>(*arguments.time).count() : 0;
  const sim::HuntState state = sim::hunt({
      .ground = ground,
      .seed = arguments.seed,
      .runs = arguments.runs.value_or(UINT64_MAX),
      .feedback = arguments.feedback,
      .for_each = [&](std::size_t count, const auto& one) { for_each(arguments.jobs, count, one); },
      .shard = arguments.shard,
      .shards = arguments.shards,
      .stop = [&](const sim::HuntState&) { return interrupted() || (limit > 0 && seconds() >= limit); },
      .progress =
          [&](const sim::HuntState& now) { progress.tell([&] { return progress_line(now, seconds()); }); },
  });
  const double hunted = seconds();
  progress.clear();

  std::vector<const sim::Find*> finds;
  for (const auto& [name, find] : state.finds) finds.push_back(&find);
  std::sort(finds.begin(), finds.end(),
            [](const sim::Find* a, const sim::Find* b) { return a->run < b->run; });
  std::vector<Finished> finished(finds.size());
  for_each(arguments.jobs, finds.size(),
           [&](std::size_t i) { finished[i] = make_small(arguments, ground, *finds[i]); });
  finished = of_one_name_each(std::move(finished));
  for_each(arguments.jobs, finished.size(),
           [&](std::size_t i) { finished[i].file = file_of(finished[i], ground); });
  ExitCode code = finds.empty() ? kMet : kFailed;
  for (const Finished& done : finished) {
    std::string path;
    if (!try_to_write([&] { path = write(arguments, done.file); })) code = worse(code, kOutput);
    print_out(report(done, path, arguments.terminal));
    if (done.find->failure.of_harness()) code = worse(code, kInternal);
  }
  if (!finished.empty() && arguments.out.empty()) print_out("\n" + finished.front().file.toml);
  if (const std::string missed = missed_marks(state); !missed.empty())
    print_out(fmt::format("never reached: {}\n", missed));
  print_out(fmt::format(
      "\n{}: {} runs, {:.0f}/s, {:.1f} virtual hours, {} grants, {} features (at most {:.4f} new ones in the "
      "next run), corpus {}, {} find{}{}\n",
      for_terminal(arguments.what, arguments.terminal), state.runs,
      static_cast<double>(state.runs) / std::max(hunted, 1e-3),
      static_cast<double>(state.virtual_ns) / 3.6e12, state.grants, state.features, state.unseen(),
      state.corpus, finished.size(), finished.size() == 1 ? "" : "s", interrupted() ? "; interrupted" : ""));
  if (state.unjudged > 0)
    print_out(fmt::format("{} runs in which a check had nothing to say\n", state.unjudged));
  print_out(fmt::format("trace {:016x}\n", state.trace));
  return interrupted() ? worse(code, kInterrupted) : code;
}

}  // namespace holdfast::tools
