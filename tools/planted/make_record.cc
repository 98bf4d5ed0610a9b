#include "tools/planted/make_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <mutex>

#include "tools/holdfast/for_each.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/output.h"
#include "tools/planted/make_small.h"

namespace holdfast::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenWrites = std::chrono::seconds(20);

struct Job {
  const Subject* subject = nullptr;
  sim::Strategy strategy = sim::Strategy::all;
  std::uint64_t seed = 1;
  enum class What { hunt, small, real } what = What::hunt;
};

class Maker {
 public:
  explicit Maker(const MakeRecordOptions& options)
      : options_(options), record_(TrackRecord::read(options.path)), begun_(Clock::now()), written_(begun_) {}

  std::size_t go(const std::vector<Subject>& subjects) {
    describe(subjects);
    const std::vector<Job> jobs = missing(subjects);
    std::size_t done = 0;
    for_each(static_cast<unsigned>(options_.jobs), jobs.size(), [&](std::size_t i) {
      if (over()) return;
      const bool did = do_one(jobs[i]);
      const std::lock_guard guard(mutex_);
      done += did ? 1 : 0;
      if (Clock::now() - written_ < kBetweenWrites) return;
      write_file(options_.path, record_.text());
      written_ = Clock::now();
    });
    write_file(options_.path, record_.text());
    return jobs.size() - done;
  }

 private:
  bool over() const { return interrupted() || (options_.time && Clock::now() - begun_ >= *options_.time); }

  void describe(const std::vector<Subject>& subjects) {
    std::set<std::string> names;
    for (const Subject& one : subjects) {
      const std::string name(one.kind->name);
      names.insert(name);
      const bool planted = one.version != nullptr;
      record_.describe(name, {.lock = std::string(planted ? one.version->base : ""),
                              .about = std::string(one.kind->about),
                              .escapes = std::string(planted ? one.version->escapes : "")});
    }
    if (options_.whole) record_.keep(names);
  }

  // Those that are known to escape are hunted once.
  static bool once(const Subject& subject) {
    return subject.version != nullptr && !subject.version->escapes.empty();
  }

  std::vector<Job> missing(const std::vector<Subject>& subjects) const {
    std::vector<Job> jobs;
    for (std::uint64_t seed = options_.seed; seed < options_.seed + options_.hunts; ++seed) {
      for (const sim::Strategy strategy : options_.strategies) {
        for (const Subject& subject : subjects) {
          if (once(subject) && (seed != options_.seed || strategy != sim::Strategy::all)) continue;
          if (!record_.has(std::string(subject.kind->name), strategy, seed, options_.runs, subject.wanted))
            jobs.push_back({.subject = &subject, .strategy = strategy, .seed = seed});
        }
        if (seed > options_.seed || strategy != sim::Strategy::all) continue;
        for (const Subject& subject : subjects) {
          const std::string name(subject.kind->name);
          if (options_.small && !once(subject) && !record_.small().contains(name)) {
            jobs.push_back({.subject = &subject, .seed = seed, .what = Job::What::small});
          } else if (lacks_real(name)) {
            jobs.push_back({.subject = &subject, .seed = seed, .what = Job::What::real});
          }
        }
      }
    }
    return jobs;
  }

  // It is small, and was not run on real servers as often as is asked for.
  bool lacks_real(const std::string& subject) const {
    const auto found = record_.small().find(subject);
    if (found == record_.small().end()) return false;
    const SmallFailure& small = found->second;
    return small.why_not_real.empty() && (small.real ? small.real->runs() : 0) < options_.real;
  }

  bool do_one(const Job& job) {
    switch (job.what) {
      case Job::What::hunt: return hunt_one(job);
      case Job::What::small: return make_small_one(job);
      case Job::What::real: return run_on_real(job);
    }
    return false;
  }

  bool hunt_one(const Job& job) {
    const sim::Search search =
        sim::search_for(*job.subject->kind, job.strategy, job.seed, options_.runs, job.subject->wanted);
    const std::string name(job.subject->kind->name);
    const std::lock_guard guard(mutex_);
    record_.add(name, job.strategy, job.seed, {.tried = search.tried, .found = search.found});
    std::cout << fmt::format("{} ({}, seed {}): {}\n", name, to_string(job.strategy), job.seed,
                             search.runs ? fmt::format("run {}: {}", *search.runs, search.promise)
                                         : fmt::format("nothing in {} runs", search.tried))
              << std::flush;
    return true;
  }

  // The first hunt once more, until its first find.
  bool make_small_one(const Job& job) {
    const sim::Search search =
        sim::search_for(*job.subject->kind, sim::Strategy::all, job.seed, options_.runs);
    if (!search.runs) return true;
    SmallFailure small = make_small(*job.subject, search, options_.real);
    const std::string name(job.subject->kind->name);
    const std::lock_guard guard(mutex_);
    std::cout << fmt::format("{}: {}, from {} faults to {}, in {} runs; on {} of 20 seeds\n", name,
                             small.promise, small.before.faults, small.after.faults, small.runs, small.seeds)
              << std::flush;
    record_.add(name, std::move(small));
    return true;
  }

  bool run_on_real(const Job& job) {
    const std::string name(job.subject->kind->name);
    SmallFailure small = [&] {
      const std::lock_guard guard(mutex_);
      return record_.small().at(name);
    }();
    if (!run_on_real_servers(small, options_.real)) return false;
    const std::lock_guard guard(mutex_);
    std::cout << fmt::format("{}: on real servers {}\n", name,
                             small.real
                                 ? fmt::format("{} of {} show it", small.real->violated, small.real->runs())
                                 : small.why_not_real)
              << std::flush;
    record_.add(name, std::move(small));
    return true;
  }

  const MakeRecordOptions& options_;
  TrackRecord record_;
  const Clock::time_point begun_;
  Clock::time_point written_;
  std::mutex mutex_;
};

}  // namespace

std::size_t make_record(const std::vector<Subject>& subjects, const MakeRecordOptions& options) {
  keep_interrupts();
  return Maker(options).go(subjects);
}

}  // namespace holdfast::tools
