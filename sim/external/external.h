// External: a workload whose clients are programs of others, in any language, with locks of their own.
//
// *Told*: each prints what it does as JSON lines, and what it prints becomes the history (ears.h says why
// that is sound). *Watched*: what it sends to Redis and is answered becomes the history (watcher.h); what it
// prints means nothing. The effects port serves both. *Both*: it is judged by what it tells, and the same is
// asked of what was seen; whether that agrees is a mark (kAgree).
//
// Each client has doors of its own in the proxy, so that faults of links and messages know it by its port:
// one that leads to the primary (to the first node where there is none), and one to each node. The first
// follows a promotion as an address behind a load balancer does: connections that exist stay where they are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/clock_control.h"
#include "sim/external/ears.h"
#include "sim/external/effects_port.h"
#include "sim/external/external_process.h"
#include "sim/external/program.h"
#include "sim/external/secrets.h"
#include "sim/external/told_client.h"
#include "sim/external/variables.h"
#include "sim/watched/watcher.h"

namespace holdfast::sim {

struct ExternalOptions {
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};  // "NAME": ours, "NAME=VALUE"
  std::int64_t port = 0;                      // of this machine, that they connect to; 0: to their door
  Duration limit = Duration::zero();          // a program that runs longer is a bad one; zero: no limit
  bool endless = false;                       // programs run until the run's time is over
  bool may_fail = false;                      // one that told something and fails is a client that died
  Duration restart = Duration::zero();        // and is started again so much later; zero: it is not
  std::uint64_t output = 16 << 20;            // bytes of one program's output
  std::int64_t keys = 1;
  std::int64_t stock = 10;
};

// From the settings of the kind.
ExternalOptions external_options(const WorkloadOptions& options);

// The mark that the exclusion checks say the same of what was told and of what was seen.
inline constexpr std::string_view kAgree = "told-and-watched-agree";

class External final : public Workload {
 public:
  External(World& world, Recorder& recorder, const WorkloadOptions& options);
  ~External() override;

  void start() override;
  bool finished() const override { return running_ == 0; }
  bool wait_finished(MonotonicTime deadline) override;  // throws BadProgram, Missing
  std::vector<std::string> clients() const override;
  Process* client(std::string_view name) override;
  void crash(std::string_view name) override;
  void restart(std::string_view name) override;
  void fork(std::string_view, std::function<void()>) override {}  // files that ask for it are refused
  void promoted(std::string_view node) override;
  const WorkloadStats& stats() const override { return stats_; }
  void conclude() override;
  void tell(checker::CheckContext& context) const override;
  std::vector<Figure> figures(const checker::History& history) const override;
  std::string sum_up(const std::vector<Figure>& figures) const override;

 private:
  struct Client {
    std::string name;
    ClientRecorder* recorder = nullptr;
    std::unique_ptr<ToldClient> told;
    std::unique_ptr<EffectsPort> effects;
    Endpoint door;                                               // to the primary
    std::vector<Endpoint> doors, sentinels;                      // to each node, to each Sentinel
    std::unique_ptr<ClockControl> clock;                         // of this incarnation; null: the machine's
    std::string node;                                            // that answered it last
    std::vector<std::unique_ptr<ExternalProcess>> incarnations;  // the present one last
    std::unique_ptr<Program> program;                            // null: it does not run
    std::uint64_t incarnation = 0, lines_before = 0;
    int silent_ends = 0;         // in a row
    std::string last_end;        // of the last one, in words
    MonotonicTime end = kNever;  // of `limit`
    bool running = false;
  };

  void open_doors(Client& client);
  void launch(Client& client);
  void start_program(Client& client);
  void preload(Client& client, ProgramOptions& program);
  void step_clock(Client& client, Duration by);
  Variables environment_of(const Client& client) const;
  std::uint64_t said(const Client& client) const;  // how much, since the beginning
  bool says_nothing(const Client& client) const;   // since its program was started
  bool may_begin_again(const Client& client) const;
  static std::string how_it_failed(const Client& client);
  std::string silence() const;
  void watched_it_all();
  void compare();
  void crashed_beside(Client& client);  // in what is seen beside
  void start_again(Client& client);
  void watch();  // [parks] until the end of the run
  void hear();   // one round, into the history
  void hear(Client& client);
  void look_after(Client& client);  // it may have ended, or run too long
  void ended(Client& client, const ChildEnd& how);
  void take_effect(Client& client, const ToldClient::Effect& effect);
  void publish();
  void fail(const std::exception_ptr& why);
  void stop_all();
  void done(Client& client);
  Client* find(std::string_view name);

  World& world_;
  Recorder& recorder_;
  const WorkloadOptions options_;
  const ExternalOptions own_;
  const Secrets secrets_;
  WorkloadStats stats_;
  Ears ears_;
  Effects effects_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<ToldEvent> events_;     // to be published
  std::unique_ptr<Recorder> beside_;  // what is seen, where they tell as well
  std::unique_ptr<Watcher> watcher_;  // null: nobody watches
  bool watched_ = false;              // it is the watcher who tells
  bool publishing_ = false;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::vector<Parker*> waiters_;
};

}  // namespace holdfast::sim
