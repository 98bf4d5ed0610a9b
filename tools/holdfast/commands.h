// The subcommands of `holdfast`. Each returns the exit code; errors of use are thrown as BadUsage.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/net/network.h"
#include "lib/tls/tls_options.h"
#include "tools/holdfast/check_judge.h"
#include "tools/holdfast/exit_code.h"
#include "tools/holdfast/run_plan.h"
#include "tools/holdfast/shard.h"
#include "tools/holdfast/survivor_survey.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// Wrong arguments: one line for standard error, exit 64.
class BadUsage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ShowArguments {
  std::string command = "holdfast";  // argv[0], for lines that reproduce
  std::string run;                   // a folder or a history
  bool open = false;
  std::string timeline;  // a file, or ""
  Terminal terminal = {};
};

struct ReplayArguments {
  std::string command = "holdfast";  // argv[0], for the line that does it again
  std::string what;                  // a folder of a kept run or of finds, or a scenario file
  std::string variant;               // "" the file without one
  std::optional<std::uint64_t> seed;
  std::string decisions;  // a file, "" none
  std::string page;       // where it is written, "" beside the run
  bool open = false;
  Terminal terminal = {};
};

struct ReportArguments {
  std::string folder;
  std::string page;  // where it is written, "" report.html in the folder
  bool open = false;
};

struct RedisArguments {
  std::uint16_t port = 6379;                                  // 0: any free one
  Endpoint primary = {};                                      // host "": none
  std::vector<std::pair<std::string, std::string>> settings;  // as CONFIG SET takes them
};

struct ExternalArguments {
  std::string command = "holdfast";  // argv[0]
  std::string what, folder;
  std::vector<std::string> program = {};  // to be watched; empty: an adapter is written
};

struct HuntArguments {
  std::string what;    // a kind of lock, or a scenario file; "": `resume` says it
  std::string bounds;  // "promised", "anything"; "": by the lock
  std::optional<Duration> time;
  std::optional<std::uint64_t> runs;  // of all shards
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  Shard shard;
  bool feedback = true, targets = true, swarm = true, shrink = true;
  std::uint64_t real = 0;  // so often is each find run on real servers
  std::string out, json;   // "" none
  std::string resume;      // what an earlier hunt wrote, a folder or a file; "" a new hunt
  Terminal terminal = {};
};

struct MergeArguments {
  std::vector<std::string> what;  // results, and folders of them
  unsigned jobs = 1;
  std::string out, json, junit;  // "" none
  bool github = false;
  Terminal terminal = {};
};

struct ExploreArguments {
  std::string file;
  std::uint32_t deviations = 2;                                                // UINT32_MAX: all
  std::uint32_t orders = UINT32_MAX, times = UINT32_MAX, faults = UINT32_MAX;  // of these at most
  bool twice = true, reduce = true;
  std::optional<std::uint64_t> runs;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::string out;
  std::string page;                  // the tree as a page, "" none
  std::vector<std::uint64_t> shown;  // runs that are recorded on it, beside those that are anyway
  bool open = false;                 // the page, in a browser
  Terminal terminal = {};
};

struct ProxyArguments {
  std::string what;              // "top": look at one that runs; "": be one
  std::string listen, upstream;  // "": no proxy yet
  std::string api = "127.0.0.1:8474";
  std::uint64_t seed = 1;
  bool anywhere = false;                // may listen where other machines reach it
  std::optional<TlsOptions> guests;     // who connects speaks TLS, which the proxy ends
  std::optional<TlsOptions> upstreams;  // the proxy speaks TLS with them
  std::string record;                   // a file, "-", or ""
  std::string recogniser;               // the name of one, a file of one, or ""
  // top
  bool once = false, json = false, keys = false;
  Duration interval = std::chrono::seconds(1);
  Terminal terminal = {};
};

struct SurvivorArguments {
  std::string what;         // init | status
  SurvivorOptions options;  // of `status` the members alone
  Access access;
  Access client = {};   // as whom clients log in; `user` empty: not told. `status` has no password.
  bool change = false;  // init: other constants than those that are there
};

struct LocksArguments {
  std::vector<std::string> urls = {};
  std::string password = {};  // where the URLs have none
  std::string pattern = "*";
  bool json = false;
};

struct UnlockArguments {
  std::vector<std::string> urls = {};
  std::string password = {};
  std::string key = {}, owner = {};
  bool yes = false;
};

// `bench` and `plot`: tools/bench/bench.h.
ExitCode run_command(const RunArguments& arguments);
ExitCode check_command(const CheckArguments& arguments);
// Until the time or the runs are over, or SIGINT; then makes small what it found.
ExitCode hunt_command(const HuntArguments& arguments);
// What shards of a run or of a hunt did, as one; throws BadUsage for what does not fit together.
ExitCode merge_command(const MergeArguments& arguments);
// Until all is seen, a promise is broken, the runs are over, or SIGINT.
ExitCode explore_command(const ExploreArguments& arguments);
ExitCode show_command(const ShowArguments& arguments);
// Runs it again, and writes the page on which it is walked through. Embedded runs only.
ExitCode replay_command(const ReplayArguments& arguments);
// Results of a folder as one page (tools/report). Throws BadUsage for what it cannot use, OutputError.
ExitCode report_command(const ReportArguments& arguments);
// Serves until SIGINT, SIGTERM or SHUTDOWN. Throws Missing when the port cannot be had.
ExitCode redis_command(const RedisArguments& arguments);
// Writes a scenario, an adapter and a workflow; overwrites nothing.
ExitCode external_command(const ExternalArguments& arguments);
// Serves until SIGINT (130) or SIGTERM. Throws Missing when a port cannot be had.
ExitCode proxy_command(const ProxyArguments& arguments);
// Throws Missing when no proxy answers.
ExitCode proxy_top_command(const ProxyArguments& arguments);
// Writes or reads the constants of a set of servers. kFailed: it is not as it should be; kMissing: a server
// does not answer.
ExitCode survivor_command(const SurvivorArguments& arguments);
// Reads only. Throws Missing: the server does not answer, is no primary, or does not let us.
ExitCode locks_command(const LocksArguments& arguments);
// kFailed: not held by that owner, or not confirmed; then nothing was changed. Throws as locks_command().
ExitCode unlock_command(const UnlockArguments& arguments);
ExitCode list_command(const std::string& what);  // locks | faults | checks | models | marks | events

}  // namespace holdfast::tools
