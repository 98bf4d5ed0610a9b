#include "tools/holdfast/hunt_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "tools/holdfast/case_story.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/for_each.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

std::uint64_t cost_of(const ToldFind& find) { return sim::size_of(find.shrunk.one.document).cost(); }

SmallFind made_small(const sim::Ground& ground, const sim::Find& find) {
  SmallFind small{.failure = find.failure, .shrunk = {}};
  const std::string promise = find.failure.promise();
  small.shrunk = sim::shrink(ground, find.first, promise, {.stop = interrupted});
  for (const sim::Failure& failure : sim::try_case(small.shrunk.one).failures) {
    if (failure.promise() == promise) small.failure = failure;
  }
  return small;
}

// By the first runs.
std::vector<const sim::Find*> in_order(const sim::HuntState& state) {
  std::vector<const sim::Find*> finds;
  for (const auto& [name, find] : state.finds) finds.push_back(&find);
  std::stable_sort(finds.begin(), finds.end(), [](const sim::Find* a, const sim::Find* b) {
    return std::pair(a->run, a->seed) < std::pair(b->run, b->seed);
  });
  return finds;
}

// Each violation as it is told: small, if it is to be.
std::vector<ToldFind> make_small(HuntRecord& record, unsigned jobs) {
  const std::vector<const sim::Find*> finds = in_order(record.state);
  std::vector<ToldFind> told(finds.size());
  const auto wanted = [&](const sim::Find& find) { return record.shrink && !find.failure.of_harness(); };
  for_each(jobs, finds.size(), [&](std::size_t i) {
    const sim::Find& find = *finds[i];
    told[i] = {.failure = find.failure, .first = &find, .count = find.count, .shrunk = {}, .file = {}};
    told[i].shrunk.one = find.first;
    if (!wanted(find)) return;
    const auto known = record.small.find(find.failure.name());
    SmallFind small = known != record.small.end() ? known->second : made_small(record.ground, find);
    told[i].failure = std::move(small.failure);
    told[i].shrunk = std::move(small.shrunk);
  });
  // What was cut short is made small anew by who goes on.
  for (std::size_t i = 0; i < finds.size() && !interrupted(); ++i) {
    if (wanted(*finds[i]))
      record.small[finds[i]->failure.name()] = {.failure = told[i].failure, .shrunk = told[i].shrunk};
  }
  return told;
}

// The smallest of each name, in the order of the first runs: what had several names may have one now.
std::vector<ToldFind> of_one_name_each(std::vector<ToldFind> all) {
  std::vector<ToldFind> kept;
  for (ToldFind& one : all) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const ToldFind& other) {
      return other.failure.name() == one.failure.name();
    });
    if (same == kept.end()) {
      kept.push_back(std::move(one));
      continue;
    }
    const std::uint64_t count = same->count + one.count;
    if (cost_of(one) < cost_of(*same)) *same = std::move(one);
    same->count = count;
  }
  return kept;
}

sim::CaseFile file_of(const ToldFind& find, const sim::Ground& ground) {
  if (find.failure.of_harness()) return sim::case_file_of_harness(find.first->first, find.failure);
  return sim::case_file(ground, find.shrunk, find.failure, story_of(find.shrunk.one, find.failure, kInAFile));
}

std::string size_text(const sim::Value& document) {
  const sim::Size size = sim::size_of(document);
  const auto many = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return many(size.faults, "fault") + ", " + many(size.tasks, "task") + ", " +
         many(size.operations, "operation");
}

std::string real_text(const RealCheck& real) {
  if (!real.cannot.empty()) return "real servers cannot run it: " + real.cannot;
  return fmt::format("on real servers it shows in {} of {} runs", real.violated, real.runs());
}

// One after another, whatever the jobs are: what else runs makes a machine late.
void run_on_real_servers(std::vector<ToldFind>& told, std::uint64_t runs) {
  for (ToldFind& find : told) {
    if (find.failure.of_harness() || interrupted()) continue;
    find.real = on_real_servers(find.shrunk.one.document, find.failure.promise(), runs, interrupted);
    if (find.real->runs() > 0 || !find.real->cannot.empty())
      add_comment(find.file, "Tried: " + real_text(*find.real));
  }
}

std::string report(const ToldFind& find, const HuntRecord& record, const std::string& path,
                   const Terminal& terminal) {
  std::string text = fmt::format("{} {}: first in run {}{}, in {} run{}\n", bad_sign(terminal),
                                 for_terminal(find.failure.name(), terminal), find.first->run,
                                 record.joined.empty() ? "" : fmt::format(" of seed {}", find.first->seed),
                                 find.count, find.count == 1 ? "" : "s");
  if (find.failure.of_harness())
    text += "    a defect of the harness: " + for_terminal(find.failure.why, terminal) + "\n";
  if (find.shrunk.runs > 0) {
    const bool chance =
        find.shrunk.seeds_of_20 == sim::kSeedsThatShow && find.shrunk.late_of_20 < sim::kSeedsThatShow;
    text += fmt::format("    from {} to {}, in {} runs; shows on {} of 20 seeds{}{}\n",
                        size_text(find.first->first.document), size_text(find.shrunk.one.document),
                        find.shrunk.runs, find.shrunk.seeds_of_20,
                        chance ? fmt::format(", {} on a late machine", find.shrunk.late_of_20) : "",
                        find.file.controlled ? "" : "; no variant in which it holds");
  }
  if (find.real) text += "    " + for_terminal(real_text(*find.real), terminal) + "\n";
  if (!path.empty()) text += fmt::format("    {}\n", for_terminal(path, terminal));
  return text;
}

// Where it lies then; "" nowhere.
std::string write(const std::string& out, const sim::CaseFile& file) {
  if (out.empty()) return "";
  const std::string path = (std::filesystem::path(out) / (file.name + ".toml")).string();
  write_file(path, file.toml);
  if (!file.decisions.empty())
    write_file((std::filesystem::path(out) / (file.name + ".decisions")).string(), file.decisions);
  return path;
}

std::string total(const HuntRecord& record, std::size_t finds, const Terminal& terminal) {
  const sim::HuntState& state = record.state;
  std::string text = fmt::format(
      "\n{}: {} runs, {:.0f}/s, {:.1f} virtual hours, {} grants, {} features (at most {:.4f} new ones in the "
      "next run), corpus {}, {} find{}{}\n",
      for_terminal(record.what(), terminal), state.runs,
      static_cast<double>(state.runs) / std::max(record.seconds, 1e-3),
      static_cast<double>(state.virtual_ns) / 3.6e12, state.grants, state.features, state.unseen(),
      state.corpus, finds, finds == 1 ? "" : "s", interrupted() ? "; interrupted" : "");
  if (state.role_changes > 0)
    text += fmt::format("{} role changes of servers during a claim\n", state.role_changes);
  if (state.unjudged > 0)
    text += fmt::format("{} runs in which a check had nothing to say\n", state.unjudged);
  return text + fmt::format("trace {:016x}\n", state.trace);
}

}  // namespace

ExitCode end_hunt(HuntRecord& record, const EndArguments& arguments) {
  std::vector<ToldFind> told = of_one_name_each(make_small(record, arguments.jobs));
  for_each(arguments.jobs, told.size(),
           [&](std::size_t i) { told[i].file = file_of(told[i], record.ground); });
  if (arguments.real > 0) run_on_real_servers(told, arguments.real);
  ExitCode code = told.empty() ? kMet : kFailed;
  for (const ToldFind& find : told) {
    std::string path;
    if (!try_to_write([&] { path = write(arguments.out, find.file); })) code = worse(code, kOutput);
    print_out(report(find, record, path, arguments.terminal));
    if (find.failure.of_harness()) code = worse(code, kInternal);
  }
  if (!told.empty() && arguments.out.empty()) print_out("\n" + told.front().file.toml);
  std::string missed;
  for (const std::string& mark : missed_marks(record)) missed += (missed.empty() ? "" : ", ") + mark;
  if (!missed.empty()) print_out(fmt::format("never reached: {}\n", missed));
  const auto keep = [&](const std::string& path) {
    if (!try_to_write([&] { write_file(path, text_of(to_json(record, told))); })) code = worse(code, kOutput);
  };
  if (!arguments.out.empty()) keep((std::filesystem::path(arguments.out) / kHuntFile).string());
  if (!arguments.json.empty()) keep(arguments.json);
  print_out(total(record, told.size(), arguments.terminal));
  return interrupted() ? worse(code, kInterrupted) : code;
}

}  // namespace holdfast::tools
