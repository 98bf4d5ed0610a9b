// The command line of `holdfast`: every subcommand, flag and text of its help. Help, man page, completion and
// the complaints about what is misspelt are made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/bench.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/version.h"

namespace holdfast::tools {

// The app, and what it fills in. Flags that need a word of thought are texts here and are read by the
// *_arguments() below, which throw BadUsage.
struct CommandLine {
  CommandLine();
  CommandLine(const CommandLine&) = delete;

  CLI::App app;
  CLI::App *run, *check, *hunt, *merge, *explore, *show, *replay, *list, *redis, *proxy, *bench, *plot,
      *report, *external, *survivor, *locks, *unlock, *schema, *completion, *man;
  CLI::App* help;

  RunArguments run_arguments(const std::string& command) const;
  CheckArguments check_arguments() const;
  BenchArguments bench_arguments(int argc, const char* const* argv) const;
  HuntArguments hunt_arguments() const;
  MergeArguments merge_arguments() const;
  ExploreArguments explore_arguments() const;
  ShowArguments show_arguments(const std::string& command) const;
  ReplayArguments replay_arguments(const std::string& command) const;
  ReportArguments report_arguments() const { return report_; }
  RedisArguments redis_arguments() const;
  ExternalArguments external_arguments(const std::string& command) const;
  ProxyArguments proxy_arguments() const;
  SurvivorArguments survivor_arguments() const;
  LocksArguments locks_arguments() const;
  UnlockArguments unlock_arguments() const;

  std::string result, figures;  // plot
  std::string what;             // list
  std::string shell;            // completion
  std::string about;            // help

 private:
  void add_terminal_flags(CLI::App& command);
  void add_run();
  void add_check();
  void add_hunt();
  void add_merge();
  void add_explore();
  void add_show();
  void add_replay();
  void add_bench();
  void add_plot();  // and report
  void add_proxy();
  void add_rest();
  void add_survivor();
  void add_locks();

  RunArguments run_;
  std::string world_ = "embedded", seed_, seeds_, keep_ = "failed", shard_;
  CheckArguments check_;
  std::string format_, engine_ = "auto", timeout_;
  BenchArguments bench_;
  HuntArguments hunt_;
  std::string hunt_time_, hunt_shard_;
  MergeArguments merge_;
  ExploreArguments explore_;
  ShowArguments show_;
  ReplayArguments replay_;
  ReportArguments report_;
  RedisArguments redis_;
  ExternalArguments external_;
  ProxyArguments proxy_;
  TlsOptions guests_, upstreams_;  // of `proxy`
  bool upstream_tls_ = false;
  SurvivorArguments survivor_;
  LocksArguments locks_;
  UnlockArguments unlock_;
  std::string members_, longest_lease_, skew_;
  bool by_lag_ = false;  // of survivor
  std::vector<std::string> redis_config_;
  std::string redis_primary_, interval_;
  std::string color_ = "auto";
  bool ascii_ = false;
};

// Parses; --help and --version end it by CLI::Success. Throws BadUsage for what is wrong, with what was
// meant.
void parse_command_line(CommandLine& line, int argc, const char* const* argv);

}  // namespace holdfast::tools
