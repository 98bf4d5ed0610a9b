// Workload scheduled-job: a job that is due once in every `period`, on a fleet whose clients all have the
// schedule. When it is due by its own clock, and late by `skew`, each thread tries the lock without waiting.
// Who gets it works for `hold`, has the job done, and releases; who does not skips this period. A lock that
// excludes perfectly lets the job run twice all the same: who wakes late finds it free again.
//
// What the job changes is a process of its own, outside the Redis under test. One line per request, one per
// answer:
//
//   DO <period>     -> OK          (done, whatever was done before)
//   ONCE <period>   -> OK | DONE   (done, unless the period's job was done before)
#include <algorithm>
#include <map>

#include "sim/client/fleet.h"
#include "sim/client/line_server.h"
#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kJob = "job", kDue = "due";

class JobStore final : public LineServer {
 public:
  explicit JobStore(World& world) : LineServer(world, "jobs") {}  // [parks]
  std::int64_t runs_of(std::int64_t period) const {
    const auto found = runs_.find(period);
    return found == runs_.end() ? 0 : found->second;
  }

 private:
  std::string answer(std::string_view request) override {
    const bool once = request.starts_with("ONCE ");
    request.remove_prefix(std::min(request.find(' '), request.size()));
    const auto period = take_number(request);
    if (!period) return "ERROR unknown request";
    std::int64_t& runs = runs_[*period];
    if (once && runs > 0) return "DONE";
    ++runs;
    return "OK";
  }

  std::map<std::int64_t, std::int64_t> runs_;  // by period
};

class ScheduledJob final : public Fleet {
 public:
  ScheduledJob(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        period_(get_or(options.own, "period", Duration(std::chrono::seconds(1)))),
        periods_(get_or(options.own, "periods", std::int64_t{10})),
        skew_(get_or(options.own, "skew", DurationRange{})),
        hold_(get_or(options.own, "hold", DurationRange{})),
        marks_(get_or(options.own, "marks", std::string("none")) == "at-the-resource") {}

  // How many periods were due is for the check: nobody else can tell of a job that nobody ran.
  void conclude() override {
    if (!store_) return;
    const WallTime now = world().harness().runtime().wall_now();
    due_ = finished() ? periods_ : std::clamp<std::int64_t>((now - begin_) / period_ - 1, 0, periods_);
    checker::Event event;
    event.type = checker::EventType::ok;
    event.f = checker::Function::other;
    event.process = recorder().history().intern("schedule");
    event.key = recorder().history().intern(options().key);
    event.error = recorder().history().intern(kDue);
    event.value = checker::Value(due_);
    recorder().append(event);
  }

  std::vector<Figure> figures(const checker::History&) const override {
    std::int64_t runs = 0, again = 0, skipped = 0;
    for (std::int64_t period = 1; store_ && period <= due_; ++period) {
      const std::int64_t times = store_->runs_of(period);
      runs += times;
      again += std::max<std::int64_t>(0, times - 1);
      skipped += times == 0 ? 1 : 0;
    }
    return {{"periods", due_},
            {"runs", runs},
            {"again", again},
            {"skipped", skipped},
            {"amiss", again + skipped}};
  }
  std::string sum_up(const std::vector<Figure>& figures) const override {
    const auto number = [&](std::string_view name) { return std::to_string(figure(figures, name)); };
    return "job " + number("periods") + " periods, " + number("runs") + " runs: " + number("again") +
           " once too often, " + number("skipped") + " periods without one";
  }

 private:
  void prepare() override {
    store_ = std::make_unique<JobStore>(world());
    begin_ = world().harness().runtime().wall_now();
  }

  WallTime due(std::int64_t period) const { return begin_ + period * period_; }

  void run_thread(WorkThread& thread) override {
    LineClient store(thread.process(), store_->endpoint(), options().command_timeout);
    Runtime& runtime = thread.process().runtime();
    // A client that comes back does not make up for what it missed.
    const std::int64_t missed = std::max<std::int64_t>(0, (runtime.wall_now() - begin_) / period_);
    for (std::int64_t period = missed + 1; period <= periods_ && !thread.over(); ++period) {
      const Duration left = due(period) - runtime.wall_now();
      if (left > Duration::zero()) runtime.sleep_for(left);
      thread.pause(skew_);
      thread.begin_round();
      if (!thread.acquire_at_once()) continue;
      thread.work(hold_);
      if (thread.must_abort()) {
        ++thread.stats().aborted;
      } else {
        run_job(thread, store, period);
      }
      thread.release();
    }
  }

  // [parks]
  void run_job(WorkThread& thread, LineClient& store, std::int64_t period) {
    ThreadRecorder& record = thread.record();
    const std::string& key = options().key;
    record.other_invoked(kJob, key, period);
    bool sent = false;
    const auto answer = store.ask((marks_ ? "ONCE " : "DO ") + std::to_string(period), sent);
    if (answer == "OK") {
      record.other_ok(kJob, key, period);
    } else if (!answer && sent) {
      record.other_unknown(kJob, key, period);
    } else {
      record.other_failed(kJob, key, period);  // it was done before, or could not be asked for
    }
  }

  const Duration period_;
  const std::int64_t periods_;
  const DurationRange skew_, hold_;
  const bool marks_;
  std::unique_ptr<JobStore> store_;
  WallTime begin_{};
  std::int64_t due_ = 0;
};

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind& lock) {
  if (get_or(options.own, "period", Duration(std::chrono::seconds(1))) <= Duration::zero())
    return WorkloadProblem{.key = "period", .what = "`period` is zero, expected such as \"1s\""};
  if (options.wait)
    return WorkloadProblem{.key = "wait", .what = "`wait`: a scheduled job does not wait, expected none"};
  if (options.interrupts > 0)
    return WorkloadProblem{.key = "interrupts",
                           .what = "`interrupts`: who does not wait cannot be interrupted, expected none"};
  if (options.readers > 0)
    return WorkloadProblem{.key = "readers", .what = "`readers`: every job writes, expected none"};
  if (lock.pair)
    return WorkloadProblem{.key = "kind",
                           .what = "`kind`: a scheduled job has one key, and the lock `" +
                                   std::string(lock.name) + "` takes two",
                           .able = [](const LockKind& each) { return !each.pair && !each.latch; }};
  return std::nullopt;
}

}  // namespace

WorkloadKind scheduled_job_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{.name = "scheduled-job",
                    .about = "a job that is due once in every period: who gets the lock at once runs it"};
  kind.keys = {
      {.name = "period", .type = Type::duration, .about = "how often the job is due (1s)"},
      {.name = "periods", .type = Type::count, .about = "how many times (10)", .most = 1'000'000},
      {.name = "skew",
       .type = Type::range,
       .about = "how late a thread wakes by its own clock, drawn for every period (none)"},
      {.name = "hold", .type = Type::range, .about = "how long the job takes (none)"},
      {.name = "marks",
       .type = Type::text,
       .about = "at-the-resource: what the job changes remembers the period, and refuses it a second time "
                "(none)",
       .choices = {"none", "at-the-resource"}},
  };
  kind.checks = {"job-once"};
  kind.cost = "amiss";
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<ScheduledJob>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
