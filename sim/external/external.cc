#include "sim/external/external.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "checker/history/history_jsonl.h"
#include "lib/testing/server/missing.h"
#include "sim/cluster/cluster.h"
#include "sim/external/bad_program.h"
#include "sim/external/external_lock.h"
#include "sim/external/variables.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

using checker::EventType;
using checker::Function;

// A program that lacks a package of its own says so by this exit status, and what on its standard error.
constexpr int kLacksSomething = 69;

// In a row, of one that is started again; and the same while nobody has said anything in this run.
constexpr int kMostSilentEnds = 50, kMostSilentBeginnings = 10;

Secrets secrets_of(const ExternalOptions& options) {
  Secrets secrets;
  for (const std::string& word : options.command) secrets.learn("", word);
  for (const std::string& variable : options.environment) {
    const auto [name, value] = variable_of(variable);
    secrets.learn(name, value ? *value : variable_of_ours(name));
  }
  return secrets;
}

std::string with_last_words(const Program& program) {
  const std::string words = program.last_words();
  return words.empty() ? "" : "; its last words: " + words;
}

}  // namespace

External::External(World& world, Recorder& recorder, const WorkloadOptions& options)
    : world_(world),
      recorder_(recorder),
      options_(options),
      own_(external_options(options)),
      secrets_(secrets_of(own_)),
      ears_(world),
      effects_{.units = own_.stock} {
  if (options_.recogniser) {
    watched_ = get_or(options_.own, "judge", std::string()) != "both";
    if (!watched_) beside_ = std::make_unique<Recorder>(world_);
    watcher_ = std::make_unique<Watcher>(watched_ ? recorder_ : *beside_, *options_.recogniser,
                                         options_.independent ? options_.nodes.size() : 1);
  }
  for (int number = 1; number <= options_.clients; ++number) {
    auto client = std::make_unique<Client>();
    client->name = "c" + std::to_string(number);
    client->recorder = &recorder_.client(client->name);
    const std::string key = own_.keys == 1 ? options_.key : options_.key + ":1";
    client->told = std::make_unique<ToldClient>(recorder_, stats_, client->name, key);
    clients_.push_back(std::move(client));
  }
}

External::~External() = default;

std::uint64_t External::said(const Client& client) const {
  return watched_ ? watcher_->understood(client.name) : client.told->lines();
}

bool External::says_nothing(const Client& client) const { return said(client) == client.lines_before; }

bool External::may_begin_again(const Client& client) const {
  if (own_.restart <= Duration::zero()) return false;
  const bool begun = std::ranges::any_of(clients_, [&](const auto& one) { return said(*one) > 0; });
  return client.silent_ends < (begun ? kMostSilentEnds : kMostSilentBeginnings);
}

void External::start() {
  if (options_.permits > 1) recorder_.permits(options_.key, options_.permits);
  for (const auto& client : clients_) {
    Client* const its = client.get();
    its->effects = std::make_unique<EffectsPort>(
        world_, its->name, effects_, [its] { return its->running && its->incarnations.back()->alive(); },
        [this, its](const ToldClient::Effect& effect) { take_effect(*its, effect); });
    open_doors(*its);
  }
  options_.proxy->watch([this](const Message& message) {
    Client* const client = find(message.link.from);
    if (client == nullptr) return;
    const auto is_it = [&](const redis::Node& node) { return node.name == message.link.to; };
    if (message.direction == Direction::reply && std::ranges::any_of(options_.nodes, is_it))
      client->node = message.link.to;
    if (watcher_) watcher_->see(message);
  });
  if (watcher_) {
    options_.proxy->watch_fates(
        [this](const Link&, std::uint64_t exchange, Fate fate) { watcher_->became(exchange, fate); });
  }
  for (const auto& client : clients_) launch(*client);
  world_.harness().start("ears", [this] { watch(); });
}

void External::open_doors(Client& client) {
  Proxy& proxy = *options_.proxy;
  client.door = proxy.expose_to(client.name, options_.nodes.front().name);
  for (const auto& node : options_.nodes) client.doors.push_back(proxy.expose_to(client.name, node.name));
  for (const auto& sentinel : options_.sentinels)
    client.sentinels.push_back(proxy.expose_to(client.name, sentinel.name));
}

void External::promoted(std::string_view node) {
  if (!options_.replicated) return;
  for (const auto& client : clients_) options_.proxy->lead(client->door, std::string(node));
}

void External::launch(Client& client) {
  Process& inner = world_.add_process(client.name);
  client.incarnations.push_back(
      std::make_unique<ExternalProcess>(inner, [this, &client](Duration by) { step_clock(client, by); }));
  ++client.incarnation;
  client.running = true;
  ++running_;
  client.recorder->started(*client.incarnations.back(), options_.lease);
  Rng rng = world_.rng("start/" + client.name + "/" + std::to_string(client.incarnation));
  const Duration pause = options_.start.draw(rng);
  if (pause <= Duration::zero()) return start_program(client);
  world_.harness().start("start", [this, &client, pause, incarnation = client.incarnation] {
    world_.harness().runtime().sleep_for(pause);
    if (client.running && client.incarnation == incarnation) start_program(client);
  });
}

void External::start_program(Client& client) {
  if (failure_) return;
  ProgramOptions program{.name = client.name,
                         .folder = options_.folder,
                         .kept = options_.run_folder,
                         .environment = environment_of(client),
                         .inherited = {std::begin(kUsualEnvironment), std::end(kUsualEnvironment)},
                         .most_output = own_.output,
                         .secrets = secrets_};
  Variables more;
  for (const std::string& variable : own_.environment) {
    const auto [name, value] = variable_of(variable);
    if (value) {
      more.emplace_back(name, filled_in(*value, program.environment));
    } else {
      program.inherited.push_back(name);
    }
  }
  for (const std::string& word : own_.command)
    program.command.push_back(filled_in(word, program.environment));
  for (auto& variable : more) program.environment.push_back(std::move(variable));
  preload(client, program);
  client.lines_before = said(client);
  const MonotonicTime now = world_.harness().runtime().now();
  client.end = own_.limit > Duration::zero() ? deadline_after(now, own_.limit) : kNever;
  try {
    client.program = std::make_unique<Program>(ears_, std::move(program));
    client.incarnations.back()->runs(client.program.get());
  } catch (const std::system_error& error) {
    const bool half_there = error.code() == std::errc::no_such_file_or_directory;  // the program itself is
    fail(std::make_exception_ptr(BadProgram(
        "client " + client.name + ": " + error.what() +
        (half_there ? "; the interpreter that its first line names is not on this machine" : ""))));
  } catch (const BadProgram&) {
    fail(std::make_exception_ptr(Missing(missing_program(options_))));
  }
}

// Only where it is asked for: nothing is preloaded into programs of others without need.
void External::preload(Client& client, ProgramOptions& program) {
  client.clock.reset();
  if (!options_.steps_clocks && options_.sentinels.empty() && !options_.cluster && own_.port == 0) return;
  const auto file = std::filesystem::absolute(options_.run_folder) / (client.name + ".clock");
  client.clock = std::make_unique<ClockControl>(file.string());
  for (auto& variable : client.clock->environment(HOLDFAST_PROGRAM_SHIM))
    program.environment.push_back(std::move(variable));
  program.environment.emplace_back("HOLDFAST_CLIENT_ADDRESS", client.incarnations.back()->address());
  if (own_.port == 0) return;
  program.environment.emplace_back("HOLDFAST_PORT", std::to_string(own_.port));
  program.environment.emplace_back("HOLDFAST_DOOR", client.door.to_string());
}

void External::step_clock(Client& client, Duration by) {
  if (client.clock == nullptr || client.program == nullptr) return;
  if (client.clock->attached()) return client.clock->step_wall(by);
  fail(std::make_exception_ptr(BadProgram(
      "client " + client.name +
      ": its clock cannot be stepped, as it reads it past the C library of this machine (a program "
      "that is statically linked)")));
}

void External::watch() {
  for (;;) {
    ears_.wait();
    if (failure_) return;
    // Who has ended by now printed all that it ever will.
    std::vector<std::pair<Client*, ChildEnd>> over;
    for (const auto& client : clients_) {
      if (client->program == nullptr) continue;
      if (const auto how = client->program->over()) over.emplace_back(client.get(), *how);
    }
    hear();
    for (const auto& [client, how] : over) {
      if (client->program != nullptr && !failure_) ended(*client, how);
    }
    const MonotonicTime now = world_.harness().runtime().now();
    for (const auto& client : clients_) {
      if (client->program == nullptr || now < client->end || failure_) continue;
      fail(std::make_exception_ptr(BadProgram("client " + client->name +
                                              " was still running after its `limit`" +
                                              with_last_words(*client->program))));
    }
  }
}

void External::hear() {
  ears_.listen();
  for (const auto& client : clients_) {
    if (client->program != nullptr && !failure_) hear(*client);
  }
  publish();
}

void External::hear(Client& client) {
  try {
    for (const Program::Line& line : client.program->take_lines()) {
      if (watched_) continue;
      try {
        ToldLine told = parse_told(line.text);
        told.error = secrets_.masked(std::move(told.error));
        client.told->tell(told, {ears_.heard_ns(), line.not_before_ns}, client.node, events_);
      } catch (const BadLine& bad) {
        throw BadProgram("client " + client.name + ", its output " + std::to_string(line.number) + ":" +
                         std::to_string(bad.column()) + ": " + secrets_.masked(bad.what()));
      }
    }
  } catch (const BadProgram&) {
    fail(std::current_exception());
  }
}

// When the whole round is in the history. A callback may crash a client, whose last words are heard then.
void External::publish() {
  if (std::exchange(publishing_, true)) return;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const ToldEvent event = events_[i];
    recorder_.publish({.kind = event.kind,
                       .client = event.client,
                       .key = event.key,
                       .id = event.id,
                       .node = event.node,
                       .time_ns = world_.now_ns()});
  }
  events_.clear();
  publishing_ = false;
}

void External::take_effect(Client& client, const ToldClient::Effect& effect) {
  if (failure_) return;
  hear();
  client.told->take_effect(effect, world_.now_ns(), events_);
  publish();
}

void External::ended(Client& client, const ChildEnd& how) {
  Program& program = *client.program;
  const std::string who = "client " + client.name;
  if (!how.by_signal && how.number == kLacksSomething) {
    const std::string words = program.last_words();
    return fail(
        std::make_exception_ptr(Missing(words.empty() ? who + " lacks something on this machine" : words)));
  }
  std::string problem;
  if (how.by_signal) {
    problem = " was ended by signal " + std::to_string(how.number);
  } else if (how.number != 0) {
    problem = " ended with exit status " + std::to_string(how.number) +
              (says_nothing(client) ? "" : " (`may_fail` takes that for a crash)");
  } else if (!watched_ && program.has_half_a_line()) {
    problem = " ended within a line of its output";
  } else if (says_nothing(client)) {
    problem = " ended and " + silence();
  }
  // While its server is away it may fail again and again before it says anything.
  client.silent_ends = says_nothing(client) ? client.silent_ends + 1 : 0;
  client.last_end = problem + with_last_words(program);
  const bool died = !problem.empty() && own_.may_fail && (may_begin_again(client) || !says_nothing(client));
  if (!problem.empty() && !died) {
    return fail(std::make_exception_ptr(
        BadProgram(who + (client.silent_ends > 1 ? how_it_failed(client) : client.last_end))));
  }
  client.incarnations.back()->runs(nullptr);
  client.program.reset();
  // Nobody has its holds any more.
  const bool busy = watched_ ? watcher_->busy(client.name) : client.told->busy();
  if (died || busy) client.recorder->crashed();
  if (beside_ && (died || watcher_->busy(client.name))) crashed_beside(client);
  if (watcher_) watcher_->gone(client.name);
  client.told->over();
  if (died && own_.restart > Duration::zero()) return start_again(client);
  done(client);
}

void External::start_again(Client& client) {
  client.incarnations.back()->crash();
  world_.harness().start("restart", [this, &client, incarnation = client.incarnation] {
    world_.harness().runtime().sleep_for(own_.restart);
    if (!failure_ && client.running && client.incarnation == incarnation) {
      --running_;
      launch(client);
    }
  });
}

void External::crash(std::string_view name) {
  Client* const client = find(name);
  if (client == nullptr || client->incarnations.empty() || !client->incarnations.back()->alive()) return;
  if (client->program != nullptr) {
    client->program->kill();
    hear();  // what it had printed
    client->incarnations.back()->runs(nullptr);
    client->program.reset();
  }
  client->recorder->crashed();
  client->incarnations.back()->crash();
  if (beside_) crashed_beside(*client);
  if (watcher_) watcher_->gone(client->name);
  client->told->over();
  done(*client);
}

void External::restart(std::string_view name) {
  Client* const client = find(name);
  if (client == nullptr || client->incarnations.empty() || client->incarnations.back()->alive()) return;
  if (!client->running) launch(*client);
}

void External::done(Client& client) {
  if (!client.running) return;
  client.running = false;
  if (--running_ > 0) return;
  for (Parker* const waiter : waiters_) waiter->unpark();
}

// The first one counts. The run ends by it.
void External::fail(const std::exception_ptr& why) {
  if (!failure_) failure_ = why;
  stop_all();
  for (Parker* const waiter : waiters_) waiter->unpark();
}

void External::stop_all() {
  for (const auto& client : clients_) {
    if (client->program != nullptr) client->program->kill();
  }
}

bool External::wait_finished(MonotonicTime deadline) {
  Parker* const parker = &world_.harness().runtime().parker();
  waiters_.push_back(parker);
  while (!failure_ && !finished() && parker->park_until(deadline)) {
  }
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), parker));
  if (failure_) std::rethrow_exception(failure_);
  return finished();
}

// The run's time may be over while programs run.
void External::conclude() {
  if (!failure_ && running_ > 0) hear();
  for (const auto& client : clients_) {
    const bool silent = said(*client) == 0;
    // It may be about to be started again.
    const bool begins = silent && client->running && client->silent_ends > 0;
    if (failure_ || (client->program == nullptr && !begins) || (own_.endless && !silent)) continue;
    std::string what = silent ? " " + silence() + " until the run's time was over"
                              : " was still running when the run's time was over (`endless` is not set)";
    if (client->program != nullptr) what += with_last_words(*client->program);
    if (silent && client->silent_ends > 0) what += "; it" + how_it_failed(*client);
    fail(std::make_exception_ptr(BadProgram("client " + client->name + what)));
  }
  stop_all();
  if (effects_.used && effects_.units <= 0) recorder_.mark("sold-out");
  if (failure_) std::rethrow_exception(failure_);
  if (watched_) watched_it_all();
  if (beside_) compare();
}

// One that was started again, in vain. REQUIRES: client.silent_ends > 0
std::string External::how_it_failed(const Client& client) {
  if (client.silent_ends == 1) return " failed once, when it" + client.last_end;
  return " failed " + std::to_string(client.silent_ends) + " times in a row, the last time it" +
         client.last_end;
}

// What a program that says nothing did not do.
std::string External::silence() const {
  if (!watched_) return "told nothing";
  std::string text = "sent nothing that the recogniser `" + options_.recogniser->name + "` knows";
  if (watcher_->unread() > 0) {
    text += " (" + std::to_string(watcher_->unread()) + " calls of scripts whose text nobody sent)";
  }
  return text;
}

void External::watched_it_all() {
  recorder_.history() = with_late_events(recorder_.history(), watcher_->given_up());
  for (const checker::Event& event : recorder_.history().events()) {
    const bool ok = event.type == EventType::ok, over = ok || event.type == EventType::fail;
    if (event.f == Function::acquire && event.type != EventType::invoke) {
      ++(ok ? stats_.acquired : stats_.failed);
    } else if (event.f == Function::release && over) {
      ++(ok ? stats_.released : stats_.lost);
    }
  }
}

void External::crashed_beside(Client& client) {
  checker::Event crash;
  crash.type = EventType::info;
  crash.f = Function::crash;
  crash.process = beside_->history().intern(client.name);
  beside_->append(crash);
}

void External::compare() {
  const checker::History seen = with_late_events(beside_->history(), watcher_->given_up());
  std::ofstream(options_.run_folder + "/watched.log") << checker::to_jsonl(seen);
  for (const char* const name : {"mutual-exclusion", "lease-exclusion"}) {
    const checker::Check& check = *checker::find_check(name);
    if (check.run(recorder_.history(), {}).outcome != check.run(seen, {}).outcome) return;
  }
  recorder_.mark(kAgree);
}

void External::tell(checker::CheckContext& context) const {
  context.initial_stock = own_.stock;
  if (effects_.used) context.final_stock = effects_.units;
}

std::vector<Figure> External::figures(const checker::History& history) const {
  const auto& events = history.events();
  const std::int64_t sold = std::count_if(events.begin(), events.end(), [](const checker::Event& event) {
    return event.f == Function::sell && event.type == EventType::ok;
  });
  return {{"stock", own_.stock},
          {"sold", sold},
          {"oversold", std::max<std::int64_t>(0, sold - own_.stock)},
          {"left", effects_.units}};
}

std::string External::sum_up(const std::vector<Figure>& figures) const {
  if (!effects_.used) return "";
  const auto number = [&](std::string_view name) { return std::to_string(figure(figures, name)); };
  return "shop " + number("stock") + " in stock, " + number("sold") + " sold: " +
         (figure(figures, "oversold") > 0 ? number("oversold") + " sold that it did not have"
                                          : "nothing oversold");
}

std::vector<std::string> External::clients() const {
  std::vector<std::string> names;
  for (const auto& client : clients_) names.push_back(client->name);
  return names;
}

External::Client* External::find(std::string_view name) {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const auto& client) { return client->name == name; });
  return found == clients_.end() ? nullptr : found->get();
}

Process* External::client(std::string_view name) {
  Client* const client = find(name);
  return client == nullptr || client->incarnations.empty() ? nullptr : client->incarnations.back().get();
}

}  // namespace holdfast::sim
