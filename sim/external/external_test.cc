// Programs of others as clients, on real servers. They are shell scripts that keep no lock at all, or one of
// their own by mkdir(1): what is tested is the harness.
#include "sim/external/external.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "lib/testing/server/missing.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/external/bad_program.h"
#include "sim/external/external_lock.h"
#include "sim/scenario/run.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

// Takes and gives back a folder: a lock that is never granted twice. say F TYPE; one PROGRAM a file.
constexpr const char* kPrelude = R"sh(
say() { printf '{"type":"%s","f":"%s"%s}\n' "$1" "$2" "${3:+,$3}"; }
take() { say invoke acquire; until mkdir lock 2>/dev/null; do :; done; say ok acquire "$1"; }
give() { say invoke release; rmdir lock; say ok release; }
effects() { exec 9<>"/dev/tcp/${HOLDFAST_EFFECTS%:*}/${HOLDFAST_EFFECTS##*:}"; }
ask() { echo "$*" >&9; read -r answer <&9; }
)sh";

class ExternalTest : public ::testing::Test {
 protected:
  // A scenario file with that program, in bash.
  Scenario scenario(const std::string& program, const std::string& workload = "",
                    const std::string& more = "", const std::string& time = "20s") {
    std::ofstream(folder_.path() + "/program.sh") << kPrelude << program;
    const std::string file = folder_.path() + "/test.toml";
    std::ofstream(file)
        << "schema = 1\nname = \"programs\"\n[run]\nseeds = \"1\"\ntime = \"" + time +
               "\"\n[lock]\nkind = \"external\"\nlease = \"2s\"\n[workload]\nkind = \"external\"\n"
               "command = [\"bash\", \"program.sh\", \"$HOME *\"]\n" +
               workload + "\n" + more +
               "\n[[expect]]\ncheck = \"mutual-exclusion\"\n[[expect]]\ncheck = \"lease-exclusion\"\n"
               "[[expect]]\ncheck = \"oversell\"\n[[expect]]\ncheck = \"lost-update\"\n"
               "[[expect]]\ncheck = \"effects-inside-hold\"\n[[expect]]\ncheck = \"progress\"\n";
    return read_scenarios(file).front();
  }
  RunResult play(const Scenario& scenario) {
    kept_ = folder_.path() + "/kept";
    std::filesystem::remove(folder_.path() + "/lock");  // somebody may have been killed inside
    std::filesystem::remove_all(kept_);
    std::filesystem::create_directories(kept_);
    return run_once(scenario, {.embedded = false, .seed = 1, .folder = kept_, .keep_history = true});
  }
  std::string broken(const Scenario& scenario) {
    try {
      play(scenario);
    } catch (const BadProgram& bad) {
      return bad.what();
    }
    return "";
  }
  std::string kept(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(kept_ + "/" + file).rdbuf();
    return text.str();
  }
  static std::size_t count(const RunResult& run, Function f, EventType type) {
    std::size_t n = 0;
    for (const Event& event : run.history.events()) n += event.f == f && event.type == type ? 1 : 0;
    return n;
  }
  static bool runs(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

  TemporaryFolder folder_;
  std::string kept_;
};

enum Asked : std::size_t {
  mutual_exclusion,
  lease_exclusion,
  oversell,
  lost_update,
  effects_inside,
  progress
};
constexpr auto kHolds = checker::Outcome::holds;
constexpr auto kViolated = checker::Outcome::violated;
constexpr auto kUnknown = checker::Outcome::unknown;

TEST_F(ExternalTest, ALockThatIsSoundIsFoundToBe) {
  const RunResult run =
      play(scenario("effects\nfor i in 1 2 3 4 5 6 7 8 9 10; do take '\"valid_for_ms\":2000'; ask READ\n"
                    "  [ $answer -gt 0 ] && ask SELL $((answer - 1)); give; done\n",
                    "clients = 4\nstock = 10"));
  for (const Asked asked : {mutual_exclusion, lease_exclusion, oversell, lost_update, effects_inside}) {
    EXPECT_EQ(run.verdicts[asked].outcome, kHolds)
        << run.questions.asked[asked].check << ": " << run.verdicts[asked].reason;
  }
  EXPECT_EQ(run.grants, 40u);
  EXPECT_EQ(figure(run.figures, "sold"), 10);
  EXPECT_EQ(figure(run.figures, "left"), 0);
  EXPECT_FALSE(run.capped);
}

// Gives back and takes as fast as it can: holds are far shorter than the harness' looks at the pipes.
TEST_F(ExternalTest, ShortHoldsRaiseNoFalseAlarm) {
  const RunResult run =
      play(scenario("for ((i = 0; i < 150; i++)); do take; give; done\n", "clients = 4", "", "600s"));
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kHolds) << run.verdicts[mutual_exclusion].reason;
  EXPECT_EQ(run.grants, 600u);
  EXPECT_EQ(run.verdicts[lease_exclusion].outcome,
            kUnknown);  // no program told how long it may believe in it
}

TEST_F(ExternalTest, WhatHoldsTwiceIsFound) {
  const RunResult run =
      play(scenario("effects\nsay invoke acquire; say ok acquire '\"valid_for_ms\":1000'; ask READ; "
                    "had=$answer; sleep 0.3\n"
                    "ask SELL $((had - 1)); say invoke release; say ok release\n",
                    "clients = 2\nstock = 1"));
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kViolated);
  EXPECT_EQ(run.verdicts[lease_exclusion].outcome, kViolated);
  EXPECT_EQ(run.verdicts[oversell].outcome, kViolated);
  EXPECT_EQ(figure(run.figures, "sold"), 2);
  EXPECT_EQ(run.verdicts[lost_update].outcome, kViolated);
}

TEST_F(ExternalTest, AWriteWithoutAHoldIsFound) {
  const RunResult run =
      play(scenario("effects\ntake; give; ask WRITE 3; [ \"$answer\" = OK ]\n", "clients = 1"));
  EXPECT_EQ(run.verdicts[effects_inside].outcome, kViolated);
}

TEST_F(ExternalTest, TheEffectsPortComparesAndFences) {
  const RunResult run = play(scenario(
      "effects\ntake\nwant() { ask $1; [ \"$answer\" = \"$2\" ] || { echo \"$1: $answer\" >&2; exit 1; }; }\n"
      "want READ 10; want 'SELL 9 IF 10' OK; want 'SELL 9 IF 10' 'CONFLICT 9'; want 'WRITE 8 TOKEN 7' OK\n"
      "want 'WRITE 7 TOKEN 6' 'STALE 7'; want '@3 READ' 8\nfor bad in BUY 'SELL' 'WRITE x' 'SELL 1 IF' '@x "
      "READ' "
      "'WRITE 1 WITH 2'; do ask $bad; [[ $answer == ERROR* ]] || exit 2; done\ngive\n",
      "clients = 1"));
  EXPECT_EQ(figure(run.figures, "sold"), 1);
  EXPECT_EQ(figure(run.figures, "left"), 8);
}

TEST_F(ExternalTest, AProgramHasItsEnvironmentAndNoShell) {
  ::setenv("HOLDFAST_TEST_SECRET", "hunter2", 1);
  ::setenv("HOLDFAST_TEST_WANTED", "yes", 1);
  play(scenario(
      "take; give; env >&2; echo \"argument $1\" >&2; pwd >&2\n",
      "clients = 2\nkey = \"k\"\nkeys = 2\nenvironment = [\"HOLDFAST_TEST_WANTED\", \"MY_MODE=a=b\"]"));
  const std::string told = kept("c2.stderr.log");
  const auto has = [&](const std::string& what) { return told.find(what) != std::string::npos; };
  EXPECT_TRUE(has("HOLDFAST_REDIS_URL=redis://127."));
  EXPECT_TRUE(has("HOLDFAST_REDIS_NODES=redis://127."));
  EXPECT_TRUE(has("HOLDFAST_CLIENT=c2\n"));
  EXPECT_TRUE(has("HOLDFAST_KEYS=k:1,k:2\n"));
  EXPECT_TRUE(has("HOLDFAST_LEASE_MS=2000\n"));
  EXPECT_TRUE(has("HOLDFAST_SEED="));
  EXPECT_TRUE(has("HOLDFAST_EFFECTS=127."));
  EXPECT_TRUE(has("HOLDFAST_TEST_WANTED=yes\n"));
  EXPECT_TRUE(has("MY_MODE=a=b\n"));
  EXPECT_FALSE(has("hunter2"));
  EXPECT_TRUE(has("argument $HOME *\n"));
  EXPECT_TRUE(has(folder_.path() + "\n"));
  EXPECT_NE(kept("c2.stdout.log").find(R"({"type":"ok","f":"acquire"})"), std::string::npos);
}

// In its logs, in what is told of its end, in the line that it broke, and in the history.
TEST_F(ExternalTest, SecretsAreMaskedWhereverAProgramPrintsThem) {
  ::setenv("HOLDFAST_TEST_PASSWORD", "hunter2", 1);
  const std::string workload =
      "clients = 1\nenvironment = [\"HOLDFAST_TEST_PASSWORD\", \"DB=redis://me:swordfish@db:1/0\"]";
  EXPECT_EQ(broken(scenario("echo \"$HOLDFAST_TEST_PASSWORD$HOLDFAST_TEST_PASSWORD\"; sleep 60\n", workload)),
            "client c1, its output 1:1: `******` is no JSON, expected such as "
            R"({"type":"invoke","f":"acquire"})");
  EXPECT_EQ(broken(scenario("echo \"cannot reach $DB\" >&2; exit 3\n", workload)),
            "client c1 ended with exit status 3; its last words: cannot reach redis://me:***@db:1/0");
  EXPECT_EQ(kept("c1.stderr.log"), "cannot reach redis://me:***@db:1/0\n");
  const RunResult run = play(scenario(
      "say invoke acquire; say fail acquire '\"error\":\"no swordfish\"'\n"
      "printf hun >&2; sleep 0.1; printf 'ter2 ' >&2; sleep 0.1; echo swordfish >&2; printf hunter2 >&2\n",
      workload));
  EXPECT_EQ(kept("c1.stderr.log"), "*** ***\n***");
  EXPECT_EQ(kept("c1.stdout.log").find("swordfish"), std::string::npos);
  for (const Event& event : run.history.events()) {
    if (event.type == EventType::fail) {
      EXPECT_EQ(run.history.text(event.error), "no ***");
    }
  }
  EXPECT_EQ(count(run, Function::acquire, EventType::fail), 1u);
}

TEST_F(ExternalTest, BadProgramsFailTheRunWithOneLine) {
  EXPECT_EQ(broken(scenario("take; echo >&2 'it breaks'; echo hello; sleep 60\n", "clients = 1")),
            "client c1, its output 3:1: `hello` is no JSON, expected such as "
            R"({"type":"invoke","f":"acquire"})");
  EXPECT_EQ(broken(scenario("say ok acquire\n", "clients = 1")),
            "client c1, its output 1:1: `ok` of acquire of `stock:42` without its invoke");
  EXPECT_EQ(broken(scenario("say invoke acquire; say invoke release\n", "clients = 1")),
            "client c1, its output 2:1: `invoke` of release while acquire of `stock:42` is open on thread 0, "
            "expected its ok, fail or info first; threads are told apart by `thread`");
  EXPECT_EQ(broken(scenario("echo oh no >&2; exit 3\n", "clients = 2")).substr(10),
            "ended with exit status 3; its last words: oh no");
  EXPECT_EQ(broken(scenario("exit 0\n", "clients = 1")), "client c1 ended and told nothing");
  EXPECT_EQ(broken(scenario("kill -SEGV $$\n", "clients = 1")), "client c1 was ended by signal 11");
  EXPECT_EQ(broken(scenario("take; printf '{'\n", "clients = 1")),
            "client c1 ended within a line of its output");
  EXPECT_EQ(broken(scenario("while :; do echo; done\n", "clients = 1\noutput = 100000")),
            "client c1 printed more than 100000 bytes (`output`)");
  EXPECT_EQ(broken(scenario("head -c 100000 /dev/zero | tr '\\0' x; sleep 60\n", "clients = 1")),
            "client c1: line 1 of its output is longer than 65536 bytes");
  EXPECT_EQ(broken(scenario("take; give; sleep 60\n", "clients = 1\nlimit = \"300ms\"")),
            "client c1 was still running after its `limit`");
  EXPECT_EQ(broken(scenario("take; give; sleep 60\n", "clients = 1", "", "500ms")),
            "client c1 was still running when the run's time was over (`endless` is not set)");
  EXPECT_EQ(broken(scenario("sleep 60\n", "clients = 1\nendless = true", "", "500ms")),
            "client c1 told nothing until the run's time was over");
}

TEST_F(ExternalTest, AScriptWithoutItsInterpreterIsABadProgram) {
  Scenario half = scenario("exit\n", "clients = 1");
  const std::string script = folder_.path() + "/half";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  half.workload.own["command"] = std::vector<std::string>{"./half"};
  EXPECT_NE(broken(half).find("; the interpreter that its first line names is not on this machine"),
            std::string::npos);
}

// It is started again until it has what it needs, and says that it is done.
TEST_F(ExternalTest, AProgramThatFailsIsStartedAgainWhereTheFileSaysSo) {
  const RunResult run =
      play(scenario("echo >> starts; n=$(wc -l < starts)\n"
                    "if [ $n = 1 ]; then take; rmdir lock; exit 3; fi\n"
                    "if [ $n -lt 5 ]; then exit 4; fi; take; give\n",
                    "clients = 1\nmay_fail = true\nrestart = \"50ms\""));
  EXPECT_EQ(run.grants, 2u);
  EXPECT_FALSE(run.capped);
  EXPECT_EQ(count(run, Function::crash, EventType::info), 4u);
}

// In the first moments that is a bad program; later its server may be away for long.
TEST_F(ExternalTest, AProgramThatFailsAgainAndAgainIsABadOne) {
  const std::string again = "clients = 1\nmay_fail = true\nrestart = \"20ms\"";
  EXPECT_EQ(
      broken(scenario("echo no such module >&2; exit 4\n", again)),
      "client c1 failed 10 times in a row, the last time it ended with exit status 4; its last words: no "
      "such module");
  EXPECT_EQ(
      broken(scenario("echo >> starts; if [ $(wc -l < starts) = 1 ]; then take; give; fi; exit 4\n", again)),
      "client c1 failed 50 times in a row, the last time it ended with exit status 4");
  std::filesystem::remove(folder_.path() + "/starts");
  Scenario late = scenario(
      "echo >> starts; if [ $(wc -l < starts) = 2 ]; then sleep 60; fi; echo oh >&2; exit 4\n", again);
  late.time = std::chrono::seconds(5);
  EXPECT_EQ(broken(late),
            "client c1 told nothing until the run's time was over; it failed once, when it ended with exit "
            "status 4; its last words: oh");
}

TEST_F(ExternalTest, AProgramMayFailWhereTheFileSaysSo) {
  const std::string fails = "if [ $HOLDFAST_CLIENT = c1 ]; then take; rmdir lock; exit 3; fi; take; give\n";
  EXPECT_EQ(broken(scenario(fails, "clients = 2")),
            "client c1 ended with exit status 3 (`may_fail` takes that for a crash)");
  const RunResult run = play(scenario(fails, "clients = 2\nmay_fail = true"));
  EXPECT_EQ(run.grants, 2u);
  EXPECT_EQ(count(run, Function::crash, EventType::info), 1u);
  EXPECT_EQ(broken(scenario("exit 3\n", "clients = 1\nmay_fail = true")),
            "client c1 ended with exit status 3");
}

TEST_F(ExternalTest, WhatIsNotThereIsMissing) {
  Scenario absent = scenario("exit\n", "clients = 1");
  absent.workload.own["command"] = std::vector<std::string>{"no-such-program-here"};
  EXPECT_THROW(play(absent), Missing);
  absent.workload.folder = absent.folder();
  EXPECT_NE(missing_program(absent.workload).find("no program `no-such-program-here`"), std::string::npos);
  absent.workload.own["command"] = std::vector<std::string>{"./program.sh"};  // not executable
  EXPECT_NE(missing_program(absent.workload).find("is not executable, expected chmod +x"), std::string::npos);
  absent.workload.own["command"] = std::vector<std::string>{"redis://me:swordfish@h"};
  EXPECT_NE(missing_program(absent.workload).find("no program `redis://me:***@h`"), std::string::npos);
  try {
    play(scenario("echo some lines first >&2; echo 'install it: apt-get install it' >&2; exit 69\n",
                  "clients = 1"));
    ADD_FAILURE() << "was not missing";
  } catch (const Missing& missing) {
    EXPECT_STREQ(missing.what(), "install it: apt-get install it");
  }
}

// A child of the program, too, which ignores what can be ignored.
TEST_F(ExternalTest, NothingIsLeftRunning) {
  const std::string stubborn =
      "trap '' TERM INT HUP; take; (trap '' TERM; echo $BASHPID > child; exec sleep 600) & echo $$ > parent\n"
      "while :; do sleep 600; done\n";
  const RunResult run = play(scenario(stubborn, "clients = 1\nendless = true", "", "1s"));
  EXPECT_EQ(run.grants, 1u);
  for (const char* const name : {"child", "parent"}) {
    std::string pid;
    std::ifstream(folder_.path() + "/" + name) >> pid;
    ASSERT_FALSE(pid.empty());
    for (int i = 0; i < 500 && runs(pid); ++i) ::usleep(10'000);  // until init has reaped it
    EXPECT_FALSE(runs(pid)) << name;
  }
}

TEST_F(ExternalTest, ItIsPausedByTheKernel) {
  const RunResult run =
      play(scenario("take; echo $(($(date +%s%N) / 1000000)) >&2; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; "
                    "echo $(($(date +%s%N) / 1000000)) >&2; done; give\n",
                    "clients = 1",
                    "[[fault]]\nid = \"stop\"\nkind = \"pause-client\"\nclient = \"c1\"\nafter = { event = "
                    "\"lock.granted\", delay = \"150ms\" }\n"
                    "for = \"1500ms\""));
  std::istringstream stamps(kept("c1.stderr.log"));
  long long before = 0, longest = 0;
  for (long long at = 0; stamps >> at; before = at)
    longest = before == 0 ? 0 : std::max(longest, at - before);
  EXPECT_GE(longest, 1300);
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kHolds);
}

TEST_F(ExternalTest, ACrashEndsItsHoldAndARestartStartsItAnew) {
  const RunResult run = play(scenario(
      "if [ $HOLDFAST_CLIENT = c1 ] && ! [ -e again ]; then touch again; take; sleep 60; fi\n"
      "if [ $HOLDFAST_CLIENT = c1 ]; then rmdir lock; fi; until [ -e again ]; do :; done; take; give\n",
      "clients = 2",
      "[[fault]]\nid = \"kill\"\nkind = \"crash\"\nclient = \"c1\"\nafter = { event = \"lock.granted\", "
      "client = "
      "\"c1\", delay = \"100ms\" }\nfor = \"200ms\""));
  EXPECT_EQ(count(run, Function::crash, EventType::info), 1u);
  EXPECT_EQ(run.grants, 3u);
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kHolds) << run.verdicts[mutual_exclusion].reason;
  bool renamed = false;
  for (const Event& event : run.history.events()) renamed |= run.history.text(event.process) == "c1/0#1";
  EXPECT_TRUE(renamed);
}

// Its URL is a door of its own: a partition of c1 is none of c2, and the door leads to who was promoted.
TEST_F(ExternalTest, FaultsOfTheNetworkKnowItByItsPort) {
  const std::string ping =
      "address=${HOLDFAST_REDIS_URL#redis://}; address=${address%/0}\n"
      "ping() { exec 8<>/dev/tcp/${address%:*}/${address##*:} && printf 'ROLE\\r\\n' >&8 && read -r -t 1 -u "
      "8 a && "
      "read -r -t 1 -u 8 b && read -r -t 1 -u 8 role; }\n";
  play(scenario(
      ping + "take; give; sleep 0.3\n(ping && echo heard >&2) & first=$!; sleep 1.5; kill $first; wait\n"
             "sleep 3; ping && echo again >&2; exit 0\n",
      "clients = 2",
      "[[fault]]\nid = \"cut\"\nkind = \"partition\"\nbetween = \"c1\"\nand = \"r1\"\nat = "
      "\"50ms\"\nfor = \"3s\""));
  EXPECT_NE(kept("c2.stderr.log").find("heard\n"), std::string::npos) << kept("c2.stderr.log");
  EXPECT_EQ(kept("c1.stderr.log").find("heard"), std::string::npos) << kept("c1.stderr.log");
  EXPECT_NE(kept("c1.stderr.log").find("again\n"), std::string::npos) << kept("c1.stderr.log");

  play(scenario(
      ping + "take; ping; echo $role >&2; give; sleep 1; ping; echo $role >&2\n", "clients = 1",
      "[cluster]\ntopology = \"primary-replica\"\n[[fault]]\nid = \"kill\"\nkind = \"crash\"\nnode = "
      "\"r1\"\nafter = { event = \"lock.released\" }\n[[fault]]\nid = \"up\"\nkind = \"promote\"\nnode = "
      "\"r2\"\nafter = { fault = \"kill\" }"));
  EXPECT_EQ(kept("c1.stderr.log"), "master\r\nmaster\r\n");
}

// Of Sentinels it learns of doors that are everybody's, and is known there by its address.
TEST_F(ExternalTest, ItFindsItsPrimaryThroughSentinels) {
  const std::string program =
      "cli() { timeout 1 redis-cli -h \"${1%:*}\" -p \"${1##*:}\" \"${@:2}\" 2>/dev/null; }\n"
      "find() { cli \"${HOLDFAST_SENTINELS%%,*}\" sentinel get-master-addr-by-name "
      "\"$HOLDFAST_PRIMARY_NAME\" | paste -sd:; }\n"
      "first=$(find); take; sleep 0.5\n"
      "echo \"there $(cli \"$first\" role | head -1)\" >&2; give\n"
      "until [ \"$(find)\" != \"$first\" ] && [ -n \"$(find)\" ]; do sleep 0.1; done\n"
      "echo \"then $(cli \"$(find)\" role | head -1), $(redis-cli -u \"$HOLDFAST_REDIS_URL\" role | head "
      "-1)\" >&2\n";
  const std::string cluster = "[cluster]\ntopology = \"sentinel\"\n";
  const std::string kill =
      "[[fault]]\nid = \"kill\"\nkind = \"crash\"\nnode = \"r1\"\nafter = { event = \"lock.released\" }\n";
  play(scenario(program, "clients = 1", cluster + kill));
  EXPECT_EQ(kept("c1.stderr.log"), "there master\nthen master, master\n");
  play(scenario(program, "clients = 1",
                cluster + kill +
                    "[[fault]]\nid = \"cut\"\nkind = \"partition\"\nbetween = \"c1\"\nand = \"r1\"\n"
                    "after = { event = \"lock.granted\" }\nfor = \"3s\"\n"));
  EXPECT_EQ(kept("c1.stderr.log"), "there \nthen master, master\n");
}

// And nobody else's.
TEST_F(ExternalTest, ItsWallClockCanBeStepped) {
  play(
      scenario("wall=$EPOCHSECONDS; take; sleep 0.5\n"
               "echo $((EPOCHSECONDS - wall)) >&2; give\n",
               "clients = 2",
               "[[fault]]\nid = \"clock\"\nkind = \"clock-step\"\nclient = \"c1\"\nby = \"-1000s\"\n"
               "after = { event = \"lock.granted\", client = \"c1\" }\n"));
  EXPECT_LT(std::stoi(kept("c1.stderr.log")), -900);
  EXPECT_GE(std::stoi(kept("c2.stderr.log")), 0);
}

// What they print is nothing that could be read; what they send says all.
constexpr const char* kWatched = "judge = \"watched\"\nrecogniser = \"set-nx\"\n";
constexpr const char* kSetNx = R"sh(
redis() { redis-cli -u "$HOLDFAST_REDIS_URL" "$@"; }
mine="$HOLDFAST_CLIENT-$$"
compare='if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
take() { until [ "$(redis set "$HOLDFAST_KEYS" "$mine" NX PX "$HOLDFAST_LEASE_MS")" = OK ]; do sleep 0.02; done; }
give() { redis eval "$compare" 1 "$HOLDFAST_KEYS" "$mine"; }
)sh";

TEST_F(ExternalTest, AWatchedLockThatIsSoundIsFoundToBe) {
  const RunResult run =
      play(scenario(std::string(kSetNx) + "for i in 1 2 3 4; do take; sleep 0.01; give; done\n",
                    std::string(kWatched) + "clients = 3\n", "[cluster]\ntopology = \"single\""));
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kHolds) << run.verdicts[mutual_exclusion].reason;
  EXPECT_EQ(run.verdicts[lease_exclusion].outcome, kHolds) << run.verdicts[lease_exclusion].reason;
  EXPECT_EQ(run.verdicts[progress].outcome, kHolds) << run.verdicts[progress].reason;
  EXPECT_EQ(run.grants, 12u);
}

TEST_F(ExternalTest, AWatchedLockThatIsTakenTwiceIsFound) {
  const RunResult run = play(scenario(
      std::string(kSetNx) + "take; redis del \"other\"; redis eval 'return redis.call(\"unlink\", KEYS[1])' "
                            "1 \"$HOLDFAST_KEYS\"; sleep 0.6; give\n",
      std::string(kWatched) + "clients = 2\n"));
  EXPECT_EQ(run.verdicts[mutual_exclusion].outcome, kViolated);
  EXPECT_EQ(run.verdicts[lease_exclusion].outcome, kViolated);
}

TEST_F(ExternalTest, WhatIsToldIsComparedWithWhatIsSeen) {
  const auto agrees = [&](const std::string& program) {
    const RunResult run = play(
        scenario(std::string(kSetNx) + program, "judge = \"both\"\nrecogniser = \"set-nx\"\nclients = 2\n"));
    EXPECT_EQ(run.grants, 6u);
    return std::ranges::any_of(run.history.events(), [&](const Event& event) {
      return event.f == Function::mark && run.history.text(event.key) == kAgree;
    });
  };
  const std::string ok = "say ok acquire '\"valid_for_ms\":1500'; sleep 0.1; ";
  EXPECT_TRUE(agrees("for i in 1 2 3; do say invoke acquire; take >&2; " + ok +
                     "say invoke release; give >&2; say ok release; done\n"));
  // It tells of what it has not got yet.
  EXPECT_FALSE(agrees("for i in 1 2 3; do say invoke acquire; " + ok +
                      "take >&2; say invoke release; give >&2; say ok release; done\n"));
}

// It has its server's address from its command line, from a variable of its own, or it is written in it.
TEST_F(ExternalTest, AProgramThatKnowsNothingOfUsIsLedToItsDoor) {
  const std::string round =
      "redis-cli $at set lock me NX PX 1000; redis-cli $at eval \"$compare\" 1 lock me\n";
  const std::string by_variable = std::string(kSetNx) + "at=\"-u $MY_REDIS\"; " + round;
  const std::string by_argument = std::string(kSetNx) + "at=\"-h $2 -p $3\"; " + round;
  const std::string by_port = std::string(kSetNx) + "at=\"-h $host -p 9\"; " + round;
  const auto grants = [&](Scenario scenario, const std::vector<std::string>& more = {}) {
    auto& command = std::get<std::vector<std::string>>(scenario.workload.own["command"]);
    command.insert(command.end(), more.begin(), more.end());
    return play(scenario).grants;
  };
  const std::string watched = std::string(kWatched) + "clients = 1\n";
  EXPECT_EQ(grants(scenario(by_variable, watched + "environment = [\"MY_REDIS=$HOLDFAST_REDIS_URL\"]")), 1u);
  EXPECT_EQ(grants(scenario(by_argument, watched), {"$HOLDFAST_REDIS_HOST", "$HOLDFAST_REDIS_PORT"}), 1u);
  for (const char* const host : {"localhost", "127.0.0.1", "::1"})
    EXPECT_EQ(grants(scenario("host=" + std::string(host) + "\n" + by_port, watched + "port = 9")), 1u)
        << host;
}

TEST_F(ExternalTest, AWatchedProgramThatSendsNothingKnownIsABadOne) {
  EXPECT_NE(
      broken(scenario("redis-cli -u \"$HOLDFAST_REDIS_URL\" ping\n", std::string(kWatched) + "clients = 1\n"))
          .find("sent nothing that the recogniser `set-nx` knows"),
      std::string::npos);
}

TEST(ExternalFile, WhatCannotBeIsRefused) {
  const auto problem = [](const std::string& lock, const std::string& workload, const std::string& more = "",
                          bool embedded = false) -> std::string {
    try {
      const auto scenarios =
          parse_scenarios("schema = 1\nname = \"f\"\n[lock]\nkind = \"" + lock + "\"\n[workload]\n" +
                              workload + "\n" + more + "\n[[expect]]\ncheck = \"mutual-exclusion\"\n",
                          "f.toml");
      require_world(scenarios.front(), embedded);
    } catch (const BadScenario& bad) {
      return bad.what();
    }
    return "";
  };
  const std::string good = "kind = \"external\"\ncommand = [\"true\"]";
  EXPECT_EQ(problem("external", good), "");
  EXPECT_NE(problem("external", good, "", true).find("the embedded world cannot run `external`"),
            std::string::npos);
  EXPECT_NE(problem("reentrant", good).find("expected `kind = \"external\"` in [lock]"), std::string::npos);
  EXPECT_NE(problem("external", "kind = \"seckill\"").find("expected the workload \"external\""),
            std::string::npos);
  EXPECT_NE(problem("external", "kind = \"external\"").find("has no `command`"), std::string::npos);
  EXPECT_NE(problem("external", "kind = \"external\"\ncommand = []").find("`command` is empty"),
            std::string::npos);
  EXPECT_NE(problem("external", good + "\nenvironment = [\"A=$HOLDFAST_REDIS_URI\"]")
                .find("names `$HOLDFAST_REDIS_URI`"),
            std::string::npos);
  EXPECT_NE(problem("external", good + "\nthink = \"1s\"").find("`think`: what a program does"),
            std::string::npos);
  EXPECT_NE(problem("external", good + "\njudge = \"guess\"").find("expected `told`"), std::string::npos);
  const std::string watched = good + "\njudge = \"watched\"\n";
  const std::string own =
      "[recogniser]\nname = \"mine\"\n[[recogniser.pattern]]\ndoes = \"acquire\"\n"
      "command = \"SET $key $owner NX\"\ndone = \"OK\"\n";
  EXPECT_EQ(problem("external", watched + "recogniser = \"redisson\""), "");
  EXPECT_EQ(problem("external", watched, own), "");
  EXPECT_NE(problem("external", watched).find("nothing says how"), std::string::npos);
  EXPECT_NE(problem("external", watched + "recogniser = \"redison\"").find("did you mean `redisson`?"),
            std::string::npos);
  EXPECT_NE(problem("external", watched + "recogniser = \"redisson\"", own).find("expected one of them"),
            std::string::npos);
  EXPECT_NE(problem("external", good, own).find("but nobody is watched"), std::string::npos);
  for (const char* const fault : {"kind = \"clock-drift\"\nppm = 100\nclient = \"c1\"\nat = \"1s\"",
                                  "kind = \"pause-watchdog\"\nclient = \"c1\"\nat = \"1s\"\nfor = \"1s\"",
                                  "kind = \"fork-client\"\nclient = \"c1\"\nat = \"1s\""}) {
    EXPECT_NE(problem("external", good, std::string("[[fault]]\nid = \"x\"\n") + fault)
                  .find("reaches into a client"),
              std::string::npos)
        << fault;
  }
  EXPECT_EQ(problem("external", good,
                    "[[fault]]\nid = \"x\"\nkind = \"clock-step\"\nby = \"1s\"\nnode = \"r1\"\nat = \"1s\""),
            "");
  EXPECT_EQ(
      problem("external", good,
              "[[fault]]\nid = \"x\"\nkind = \"clock-step\"\nby = \"1s\"\nclient = \"c1\"\nat = \"1s\""),
      "");
}

}  // namespace
}  // namespace holdfast::sim
