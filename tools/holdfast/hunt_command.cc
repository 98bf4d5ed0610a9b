// `holdfast hunt`: looks for broken promises in cases that it draws, makes each find small, and writes it as
// a scenario file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/redis_process.h"
#include "sim/hunt/hunt.h"
#include "sim/scenario/parse_scenario.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/for_each.h"
#include "tools/holdfast/hunt_end.h"
#include "tools/holdfast/hunt_record.h"
#include "tools/holdfast/hunt_screen.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/version.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
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

HuntRecord new_hunt(const HuntArguments& arguments) {
  HuntRecord record;
  record.version = version();
  record.ground = ground_of(arguments);
  record.probe = sim::probe_of(record.ground);
  record.seed = arguments.seed;
  record.feedback = arguments.feedback;
  record.shrink = arguments.shrink;
  record.shard = arguments.shard;
  record.asked = arguments.runs;
  return record;
}

// What an earlier hunt left, to be gone on with until `arguments` say.
HuntRecord earlier_hunt(const HuntArguments& arguments) {
  std::error_code ignored;
  const bool folder = fs::is_directory(arguments.resume, ignored);
  const std::string path = folder ? (fs::path(arguments.resume) / kHuntFile).string() : arguments.resume;
  HuntRecord record = hunt_record(read_json(path), path);
  const auto refuse = [&](const std::string& why) { throw BadUsage("--resume: " + path + ": " + why); };
  if (record.version != version() || record.probe != sim::probe_of(record.ground))
    refuse("hunted by another build of holdfast (" + record.version +
           "), whose runs differ, expected the same build; or a new hunt");
  const std::uint64_t runs = record.state.runs;
  if (arguments.runs) record.asked = arguments.runs;
  if (arguments.time) record.asked = std::nullopt;
  if (record.shard.of > 1 && !record.asked) refuse("is a shard, expected --runs, of all shards, not --for");
  if (record.asked && runs >= record.shard.part_of(*record.asked))
    refuse(fmt::format("all of its {} runs are there, expected more --runs, or --for", runs));
  // Within a generation the corpus grows without being drawn from: what comes now would be another hunt.
  if (record.feedback && record.joined.empty() && runs % sim::kGeneration != 0)
    refuse(fmt::format("it ended after {} runs, within a generation of {}, expected whole generations", runs,
                       sim::kGeneration));
  return record;
}

std::string title_of(const HuntRecord& record) {
  return fmt::format(
      "hunt {}, {}, seed {}{}", record.what(),
      record.ground.bounds == sim::Ground::Bounds::promised ? "within what it bears" : "anything goes",
      record.seed, record.feedback ? "" : ", without feedback");
}

}  // namespace

ExitCode hunt_command(const HuntArguments& arguments) {
  if (arguments.real > 0 && find_program("redis-server").empty()) throw MissingServer();
  HuntRecord record = arguments.resume.empty() ? new_hunt(arguments) : earlier_hunt(arguments);
  std::string out = arguments.out, json = arguments.json;
  if (!arguments.resume.empty() && out.empty() && json.empty()) {  // where it came from
    std::error_code ignored;
    (fs::is_directory(arguments.resume, ignored) ? out : json) = arguments.resume;
  }
  if (!out.empty()) require_writable_folder("--out", out);
  if (!json.empty()) require_writable_file("--json", json);
  keep_interrupts();
  const double before = record.seconds;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const bool timed = !record.asked;
  const std::uint64_t runs_before = record.state.runs;
  const double limit =
      std::chrono::duration<double>(arguments.time.value_or(std::chrono::seconds(60))).count();
  HuntScreen screen(
      title_of(record),
      timed ? "in " + format_seconds(limit) : fmt::format("of {}", record.shard.part_of(*record.asked)),
      before, arguments.terminal);
  record.state = sim::hunt({
      .ground = record.ground,
      .seed = record.seed,
      .runs = timed ? UINT64_MAX : record.shard.part_of(*record.asked),
      .feedback = record.feedback,
      .for_each = [&](std::size_t count, const auto& one) { for_each(arguments.jobs, count, one); },
      .shard = record.shard.index,
      .shards = record.shard.of,
      .from = std::move(record.state),
      .stop = [&](const sim::HuntState&) { return interrupted() || (timed && seconds() >= limit); },
      .progress = [&](const sim::HuntState& now) { screen.show(now, seconds()); },
  });
  record.seconds = before + seconds();
  if (!record.joined.empty()) record.joined.front().runs += record.state.runs - runs_before;
  screen.clear();
  return end_hunt(record, {.jobs = arguments.jobs,
                           .real = arguments.real,
                           .out = out,
                           .json = json,
                           .terminal = arguments.terminal});
}

}  // namespace holdfast::tools
