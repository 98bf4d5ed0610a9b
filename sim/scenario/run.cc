// How a run goes: servers up and in sync, faults of time 0, clients, until workload and faults are done or
// the time is up; then every process is ended, and the checks read the history.
#include "sim/scenario/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "checker/linearizability/linearizability.h"
#include "lib/testing/server/certificates.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/recorder.h"
#include "sim/client/workload.h"
#include "sim/client/workload_kind.h"
#include "sim/cluster/cluster.h"
#include "sim/comparators/engine.h"
#include "sim/external/external_lock.h"
#include "sim/proxy/chain_rule.h"
#include "sim/proxy/ledger.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/scenario/director.h"
#include "sim/scenario/left_behind.h"
#include "sim/scenario/run_observer.h"
#include "sim/truth/truth.h"
#include "sim/world/chains.h"
#include "sim/world/rare.h"

namespace holdfast::sim {
namespace {

// Everything of one run. The members are built on a task of the harness; they are destroyed after the world
// ended all tasks, in reverse order, so that no task can outlive what it uses.
struct Stage {
  std::unique_ptr<TemporaryFolder> certificates;  // null: nobody speaks TLS
  std::unique_ptr<World> world;
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Truth> truth;  // null: nobody asked for it
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Workload> workload;
  std::unique_ptr<Director> director;
  std::unique_ptr<Chains> chains;  // null: messages come when the network brings them
  std::uint64_t waits = 0;         // acquires that were refused at first
};

std::unique_ptr<World> make_world(const Scenario& scenario, const RunOptions& options) {
  if (!options.embedded) return make_real_world({.seed = options.seed, .decisions = options.decisions});
  return make_embedded_world(
      {.seed = options.seed, .order = {.kind = scenario.order}, .decisions = options.decisions});
}

bool asks_for(const Scenario& scenario, std::string_view check) {
  return std::any_of(scenario.expectations.begin(), scenario.expectations.end(),
                     [&](const Expectation& expectation) { return expectation.check == check; });
}

void add_latency(Stage& stage, const Scenario& scenario) {
  const World& world = *stage.world;
  const auto of = [](const std::string& client) {
    return [client](const Link& link) {
      return Lanes{.request = link.from == client, .reply = link.from == client};
    };
  };
  for (const auto& [client, latency] : scenario.far_clients) {
    stage.proxy->add_rule(make_delay_rule(of(client), latency, world.rng("network/" + client)));
  }
  if (scenario.latency.high.count() == 0) return;
  if (scenario.far_clients.empty()) {
    stage.proxy->add_rule(make_latency_rule(scenario.latency, world.rng("network")));
    return;
  }
  const auto near = [far = scenario.far_clients](const Link& link) {
    const bool here = !far.contains(link.from);
    return Lanes{.request = here, .reply = here};
  };
  stage.proxy->add_rule(make_delay_rule(near, scenario.latency, world.rng("network")));
}

constexpr int kLatestTimer = 10;  // of chains: a tenth of a lease

// Messages and timers by chains; who is put down stands in the history like a fault, as long as it lasts.
void add_chains(Stage& stage, const Scenario& scenario) {
  World& world = *stage.world;
  const Duration lease = scenario.workload.lease;
  ChainOptions options;
  options.steady = std::min(options.steady, lease / 24);
  options.longest = 3 * lease;
  options.timers = lease / kLatestTimer;
  const auto told = [&world, recorder = stage.recorder.get(), acts = 0](std::string_view chain,
                                                                        Duration by) mutable {
    const std::string fault(chain), act = fault + "#" + std::to_string(++acts);
    recorder->fault({.fault = fault, .act = act, .description = "put-down"}, true);
    world.harness().start("nemesis", [&world, recorder, fault, act, by] {
      world.harness().runtime().sleep_for(by);
      recorder->fault({.fault = fault, .act = act, .description = "put-down"}, false);
    });
  };
  stage.chains = std::make_unique<Chains>(options, world.rng("chains"), told);
  stage.proxy->add_rule(make_chain_rule(*stage.chains));
}

// All clients that this run may have, also the one that comes when all is over.
std::vector<std::string> clients_of(const Scenario& scenario) {
  std::vector<std::string> names = {std::string(checker::kRestClient)};
  for (int i = 1; i <= scenario.workload.clients; ++i) names.push_back("c" + std::to_string(i));
  return names;
}

// The clients, c1 and so on, and their forks.
bool is_client(std::string_view process, const Scenario& scenario) {
  const std::string name(process.substr(0, process.find('-')));
  for (int i = 1; i <= scenario.workload.clients; ++i) {
    if (name == "c" + std::to_string(i)) return true;
  }
  return false;
}

void make_trouble(Stage& stage, const Scenario& scenario) {
  if (scenario.chains) add_chains(stage, scenario);
  if (!scenario.chains && !scenario.rare.any()) return;
  make_rare(*stage.world, scenario.rare, stage.chains.get(),
            [&scenario](std::string_view process) { return is_client(process, scenario); });
}

// A CA, which has signed what the proxy shows. Returns what clients trust.
TlsOptions encrypt(Stage& stage) {
  constexpr const char* kName = "redis.test";
  stage.certificates = std::make_unique<TemporaryFolder>();
  const testing::CertificateAuthority ca(stage.certificates->path(), "ca");
  const testing::Certificate shown = ca.issue({.name = "proxy", .hosts = {kName}});
  stage.proxy->end_tls({.certificate_file = shown.certificate_file, .key_file = shown.key_file});
  return {.ca_file = ca.file(), .server_name = kName};
}

void set_up(Stage& stage, const Scenario& scenario, const RunOptions& options) {
  World& world = *stage.world;
  stage.proxy = std::make_unique<Proxy>(world);
  ClusterOptions cluster = scenario.cluster;
  cluster.folder = options.folder;
  if (const Decoder* const decoder = find_decoder(scenario.lock->records_of());
      decoder != nullptr && options.embedded && asks_for(scenario, "truth")) {
    stage.truth = std::make_unique<Truth>(world, *decoder, scenario.lock->quorum);
    cluster.witness = [truth = stage.truth.get()](const std::string& node) { return truth->witness(node); };
  }
  if (options.observer != nullptr) {
    cluster.witness = [observer = options.observer, others = cluster.witness](const std::string& node) {
      return observer->witness(node, others ? others(node) : nullptr);
    };
  }
  std::optional<TlsOptions> tls;
  if (cluster.tls) tls = encrypt(stage);
  const Engine* const engine = find_engine(cluster.engine);
  if (engine != nullptr) stage.proxy->make_opaque();
  stage.cluster = engine != nullptr  ? engine->make(world, *stage.proxy, cluster)
                  : options.embedded ? make_embedded_cluster(world, *stage.proxy, cluster)
                                     : make_real_cluster(world, *stage.proxy, cluster);
  if (options.observer != nullptr) options.observer->begins(world, *stage.proxy, *stage.cluster);
  stage.cluster->start();
  add_latency(stage, scenario);

  stage.recorder = std::make_unique<Recorder>(world);
  if (options.observer != nullptr) options.observer->records(*stage.recorder);
  WorkloadOptions workload = scenario.workload;
  workload.independent = cluster.topology == Topology::independent;
  workload.cluster = cluster.topology == Topology::cluster;
  workload.tls = tls;
  workload.proxy = stage.proxy.get();
  workload.replicated = has_replicas(cluster.topology);
  if (workload.cluster) workload.primaries = cluster.election.primaries;
  if (find_workload_kind(workload.kind)->programs) workload.folder = scenario.folder();
  workload.run_folder = options.folder;
  for (const auto& node : stage.cluster->nodes()) workload.nodes.push_back({node->name(), node->endpoint()});
  if (engine != nullptr) workload.doors = open_doors(*stage.proxy, *stage.cluster, clients_of(scenario));
  for (const auto& sentinel : stage.cluster->sentinels())
    workload.sentinels.push_back({sentinel->name(), sentinel->endpoint()});
  stage.recorder->subscribe({.event = RunEventKind::lock_waiting},
                            [&stage](const RunEvent&) { ++stage.waits; });
  stage.workload = make_workload(world, *stage.recorder, workload);
  if (options.embedded) make_trouble(stage, scenario);
  keep_ledger(*stage.proxy, *scenario.lock, *stage.recorder);
  if (stage.truth) stage.truth->keep(*stage.recorder);
  stage.director = std::make_unique<Director>(scenario, world, *stage.cluster, *stage.proxy, *stage.workload,
                                              *stage.recorder);
}

// [parks] Until workload and faults are done; for good, if somebody asks what is left then. False: the time
// was up first.
bool play(Stage& stage, const Scenario& scenario, const std::function<bool()>& interrupted) {
  Runtime& runtime = stage.world->harness().runtime();
  const MonotonicTime began = runtime.now(), cap = deadline_after(began, scenario.time);
  // wait(deadline) until it says true; false at the cap.
  const auto until_cap = [&](const auto& wait) {
    if (!interrupted) return wait(cap);
    while (!wait(std::min(cap, deadline_after(runtime.now(), std::chrono::milliseconds(100))))) {
      if (interrupted()) throw std::runtime_error("interrupted");
      if (runtime.now() >= cap) return false;
    }
    return true;
  };
  const auto work = [&](MonotonicTime deadline) { return stage.workload->wait_finished(deadline); };
  Parker& parker = runtime.parker();
  const auto faults = [&](MonotonicTime deadline) {
    while (stage.director->busy()) {
      if (!parker.park_until(deadline) && stage.director->busy()) return false;
    }
    return true;
  };
  stage.director->start();
  stage.workload->start();
  const auto both = [&] {
    if (!until_cap(work)) return false;
    stage.director->on_idle([&parker] { parker.unpark(); });
    if (!until_cap(faults)) return false;
    stage.director->on_idle(nullptr);
    return until_cap(work);  // a fault may have restarted a client
  };
  if (!both()) return false;
  if (!asks_for(scenario, "at-rest")) return true;
  stage.director->disarm();
  const MonotonicTime calm = deadline_after(began, scenario.calm.value_or(Duration::zero()));
  const auto calms = [&](MonotonicTime deadline) {
    runtime.sleep_until(std::min(deadline, deadline_after(calm, std::chrono::milliseconds(1))));
    return runtime.now() > calm;
  };
  if (stage.director->awaits_calm() && !until_cap(calms)) return false;
  return both();
}

// [parks] The work is done and the faults are over: what is left? Messages that a fault delayed may still
// come to the servers, and what they do there lasts for a lease; servers that copy from each other and were
// cut off find each other again in a repl-timeout.
void come_to_rest(Stage& stage, const Scenario& scenario) {
  constexpr int kLeases = 4;
  constexpr Duration kServersFindEachOther = std::chrono::seconds(75);
  const bool alone =
      scenario.cluster.topology == Topology::single || scenario.cluster.topology == Topology::independent;
  stage.recorder->end_subscriptions();
  stage.workload->rest(kLeases * scenario.workload.lease + scenario.progress_bound +
                       (alone ? Duration{0} : kServersFindEachOther));
  checker::History& history = stage.recorder->history();
  for (const LeftBehind& one : left_behind(*stage.cluster)) {
    checker::Event event;
    event.type = checker::EventType::info;
    event.process = history.intern(checker::kRestClient);
    event.error = history.intern(checker::kLeftBehind);
    event.key = history.intern(one.key);
    event.node = history.intern(one.node);
    event.mode = history.intern(one.type);
    stage.recorder->append(event);
  }
}

std::uint64_t digest(const checker::History& history, std::uint64_t of_world) {
  Trace trace;
  trace.add(of_world);
  for (const checker::Event& event : history.events()) {
    trace.add(static_cast<std::uint64_t>(event.time_ns));
    trace.add(static_cast<std::uint64_t>(event.valid_until_ns));
    for (const checker::Value value : {event.token, event.value}) {
      trace.add(static_cast<std::uint64_t>(value.empty() ? checker::kAbsent : value.number_or(value.bits())));
    }
    trace.add((std::uint64_t{event.permits} << 16) | (static_cast<std::uint64_t>(event.type) << 8) |
              static_cast<std::uint64_t>(event.f));
    for (const checker::Symbol symbol :
         {event.process, event.key, event.id, event.owner, event.mode, event.node, event.error}) {
      trace.add(history.text(symbol));
    }
  }
  return trace.digest();
}

// A machine that does other things as well wakes a task late.
constexpr std::int64_t kToldSlackRealNs = 25'000'000;

checker::CheckContext context_of(const Stage& stage, const Scenario& scenario, const RunResult& result,
                                 std::int64_t end_ns, bool embedded) {
  checker::CheckContext context;
  const LockKind& lock = *scenario.lock;
  context.reentrant = lock.reentrant;
  // A program's lock is a semaphore if the file says so.
  const bool counts =
      lock.counts_permits && (&lock != &external_lock_kind() || scenario.workload.permits > 1);
  context.permits = counts ? scenario.workload.permits : 0;
  context.promised_overtakes = scenario.overtakes;
  context.least_share_percent = scenario.share_percent;
  // Nobody keeps a queue over a fault, so the fair model judges a run only where the scenario asks for it.
  context.model =
      lock.fair && asks_for(scenario, "linearizable")
          ? "fair"
          : checker::usual_lock_model(stage.recorder->history(),
                                      {.reentrant = lock.reentrant, .counts = counts, .shared = lock.shared});
  stage.workload->tell(context);
  context.lease_ns = scenario.workload.lease.count();
  context.progress_bound_ns = scenario.progress_bound.count();
  context.end_ns = end_ns;
  context.run_ended_by_itself = !result.capped;
  context.clocks_within_bounds = stage.director->clocks_within_bounds();
  if (!embedded) {
    context.told_slack_ns = kToldSlackRealNs;
    return context;
  }
  // Who is told waits twice: for the answer to its last question, and for the end itself.
  context.told_slack_ns += 2 * scenario.rare.timers.high.count();
  if (scenario.chains) context.told_slack_ns += 2 * scenario.workload.lease.count() / kLatestTimer;
  return context;
}

checker::Questions questions_of(const Scenario& scenario, checker::CheckContext context, std::uint64_t seed) {
  checker::Questions questions;
  questions.title = fmt::format("{}, seed {}", scenario.title(), seed);
  questions.context = std::move(context);
  for (const Expectation& expectation : scenario.expectations) {
    questions.asked.push_back(
        {.check = expectation.check,
         .expected = expectation.violated ? checker::Outcome::violated : checker::Outcome::holds,
         .kind = expectation.kind,
         .seeds = expectation.seeds.to_string() == "all" ? "" : expectation.seeds.to_string(),
         .marks = expectation.marks});
  }
  return questions;
}

void judge(const checker::History& history, RunResult& result) {
  for (const checker::Question& question : result.questions.asked) {
    checker::CheckContext context = result.questions.context;
    context.required_marks = question.marks;
    result.verdicts.push_back(checker::find_check(question.check)->run(history, context));
  }
}

}  // namespace

RunResult run_once(const Scenario& scenario, const RunOptions& options) {
  RunResult result;
  result.seed = options.seed;
  Stage stage;
  stage.world = make_world(scenario, options);
  std::int64_t begin_ns = 0, end_ns = 0;
  checker::CheckContext context;
  stage.world->run([&] {
    set_up(stage, scenario, options);
    begin_ns = stage.world->now_ns();
    result.capped = !play(stage, scenario, options.embedded ? std::function<bool()>{} : options.interrupted);
    if (!result.capped && asks_for(scenario, "at-rest")) come_to_rest(stage, scenario);
    end_ns = stage.world->now_ns();
    stage.workload->conclude();
    context = context_of(stage, scenario, result, end_ns, options.embedded);
    if (options.observer != nullptr) options.observer->ends();
  });
  if (!stage.director->failure().empty()) throw std::runtime_error(stage.director->failure());

  result.length_ns = end_ns - begin_ns;
  const WorkloadStats& stats = stage.workload->stats();
  result.grants = stats.acquired;
  result.waits = stage.waits;
  result.figures = stage.workload->figures(stage.recorder->history());
  result.summed_up = stage.workload->sum_up(result.figures);
  result.questions = questions_of(scenario, std::move(context), options.seed);
  judge(stage.recorder->history(), result);
  result.trace = digest(stage.recorder->history(), options.embedded ? stage.world->trace().digest() : 0);
  if (options.keep_history) result.history = stage.recorder->history();
  return result;
}

}  // namespace holdfast::sim
