// What the program does when something cannot be written, or memory ends: it says so in one line, exits with
// 74 (memory: 70), and loses nothing else.
#include "tools/holdfast/output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

// Grants again after a restart, and expects that.
const std::string kBroken = kScenarios + "restart_without_persistence.toml";
const std::string kRun = "run " + kBroken + " --variant base --seeds 1..2";

class Output : public ::testing::Test {
 protected:
  Output() { fs::permissions(folder_.path(), fs::perms(0755)); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string history() {
    const Ran ran = holdfast(kRun + " --keep violated --out " + path("kept"));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return path("kept/restart-without-persistence/seed-1/history.jsonl");
  }

  // Nothing that was begun is left beside the results.
  void expect_no_leftovers(const std::string& below) {
    for (const auto& entry : fs::recursive_directory_iterator(below))
      EXPECT_EQ(entry.path().filename().string().find(".holdfast-"), std::string::npos) << entry.path();
  }

  TemporaryFolder folder_;
};

void expect_one_line(const Ran& ran, const std::string& said) {
  EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

// The verdict of kRun is there, to the last line.
void expect_verdict(const Ran& ran) {
  EXPECT_TRUE(ran.says("lease-exclusion is violated")) << ran.out;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
  EXPECT_TRUE(ran.last_line(1).starts_with("1 case, 2 runs, 0 unexpected, ")) << ran.out;
  EXPECT_TRUE(ran.last_line().starts_with("trace ")) << ran.out;
}

// --- full disks and limits

TEST_F(Output, AFullDiskCostsNothingButWhatDidNotFit) {
  // A file system of its own needs a name space of its own, which not every container gives.
  const std::string mounted = path("disk"), inside = "mount -t tmpfs -o size=96k none " + mounted;
  fs::create_directory(mounted);
  if (run_shell("unshare -rm sh -c '" + inside + "'").exit != 0)
    GTEST_SKIP() << "no file system can be mounted here";
  const Ran ran = run_shell("unset COLUMNS; export LC_ALL=C.UTF-8; unshare -rm sh -c '" + inside + " && { " +
                            kTool + " " + kRun + " --keep all --out " + mounted + "/out; code=$?; cp -r " +
                            mounted + " " + path("copy") + "; exit $code; }'");
  EXPECT_EQ(ran.exit, 74) << ran.err;
  expect_verdict(ran);
  expect_one_line(ran, "cannot be written (No space left on device)");
  EXPECT_TRUE(ran.says("could")) << ran.out;
  expect_no_leftovers(path("copy"));
  const std::string kept = path("copy/out/restart-without-persistence/seed-1");
  ASSERT_TRUE(fs::exists(kept + "/history.jsonl")) << "it fits";
  EXPECT_EQ(holdfast("check " + kept + "/history.jsonl").exit, 1);  // it is whole
}

TEST_F(Output, ADeviceThatIsFullCostsNothingElse) {
  const Ran ran = holdfast(kRun + " --json /dev/full --junit " + path("junit.xml"));
  EXPECT_EQ(ran.exit, 74);
  expect_verdict(ran);
  expect_one_line(ran, "holdfast: /dev/full: cannot be written (No space left on device)");
  EXPECT_NE(read_text(path("junit.xml")).find("</testsuites>"), std::string::npos);
}

TEST_F(Output, AFileSizeLimitIsAnErrorAndTheOlderFileStays) {
  write_file(path("run.json"), "old");
  const Ran ran = run_shell("export LC_ALL=C.UTF-8; ulimit -f 1; " + kTool + " " + kRun + " --json " +
                            path("run.json") + " --out " + path("out") + " --keep all");
  EXPECT_EQ(ran.exit, 74);
  expect_verdict(ran);
  EXPECT_NE(ran.err.find("run.json: cannot be written (File too large)\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("history.jsonl: cannot be written (File too large)\n"), std::string::npos)
      << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 2) << ran.err;
  EXPECT_EQ(read_text(path("run.json")), "old");
  expect_no_leftovers(folder_.path());
}

TEST_F(Output, CheckTellsItsVerdictWhateverCannotBeWritten) {
  const std::string file = history();
  const Ran whole = holdfast("check " + file);
  EXPECT_EQ(whole.exit, 1);
  for (const char* flag : {"--witness=", "--timeline=", "--json="}) {
    const Ran ran = holdfast("check " + file + " " + flag + "/dev/full");
    EXPECT_EQ(ran.exit, 74) << flag;
    EXPECT_TRUE(ran.says(": violated\n")) << flag << ran.out;
    EXPECT_TRUE(ran.says("two owners")) << flag;
    expect_one_line(ran, "holdfast: /dev/full: cannot be written (No space left on device)");
  }
}

TEST_F(Output, BenchGoesOnMeasuring) {
  const Ran ran =
      holdfast("bench --suite uncontended --locks spin --world embedded --quick --json /dev/full");
  EXPECT_EQ(ran.exit, 74);
  EXPECT_TRUE(ran.says("uncontended")) << ran.out;
  EXPECT_FALSE(ran.says("result /dev/full")) << ran.out;
  EXPECT_NE(ran.err.find("/dev/full: cannot be written (No space left on device)"), std::string::npos);
}

TEST_F(Output, AFullStandardOutputIsExit74OfEachCommand) {
  const std::string file = history(), kept = fs::path(file).parent_path().string();
  for (const std::string& command :
       {kRun, "run " + kScenarios + "happy_path.toml --seed 1 --json " + path("run.json"),
        std::string("list locks"), std::string("help run"), std::string("man"), std::string("schema"),
        "check " + file, "check " + file + " " + file, "check " + file + " --json -", "show " + kept,
        "show " + file, std::string("bench --suite uncontended --locks spin --world embedded --quick")}) {
    for (const char* full : {" >/dev/full", " >&-"}) {
      const Ran ran = holdfast(command + full);
      EXPECT_EQ(ran.exit, 74) << command << full << ran.err;
      EXPECT_NE(ran.err.find("holdfast: standard output: cannot be written ("), std::string::npos) << ran.err;
      EXPECT_EQ(ran.err.find("internal"), std::string::npos) << ran.err;
    }
  }
  // What goes elsewhere is there.
  EXPECT_EQ(nlohmann::json::parse(read_text(path("run.json")))["total"]["unexpected"], 0);
}

TEST_F(Output, AStandardErrorThatIsFullOrClosedChangesNothing) {
  for (const char* full : {" 2>/dev/full", " 2>&-"}) {
    const Ran ran = holdfast(kRun + full);
    EXPECT_EQ(ran.exit, 0);
    expect_verdict(ran);
    EXPECT_EQ(holdfast(std::string("run nowhere.toml") + full).exit, 64);
  }
}

// --- places that take no file

TEST_F(Output, APlaceThatTakesNoFileIsCalledReadOnly) {
  std::string as_user;
  if (geteuid() == 0) {
    as_user = "setpriv --reuid 65534 --clear-groups ";
    if (run_shell(as_user + kTool + " --version").exit != 0 ||
        run_shell(as_user + "test -r " + kBroken).exit != 0)
      GTEST_SKIP() << "another user can read nothing here";
  }
  fs::create_directory(path("ro"));
  fs::permissions(path("ro"), fs::perms(0555));
  for (const auto& [flag, folder] : {std::pair{"--out " + path("ro"), path("ro")},
                                     {"--out " + path("ro/a/b"), path("ro")},
                                     {"--json " + path("ro/x.json"), path("ro")},
                                     {"--junit " + path("ro/a/x.xml"), path("ro")},
                                     {std::string("--json /proc/x.json"), std::string("/proc")}}) {
    const Ran ran = run_shell(as_user + kTool + " " + kRun + " " + flag);
    EXPECT_EQ(ran.exit, 74) << flag;
    expect_one_line(ran, folder + " is read-only for this user");
    EXPECT_EQ(ran.err.find("No such file"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  const Ran root = holdfast("check " + kBroken + " --timeline /proc/x/y.html");
  EXPECT_EQ(root.exit, 74);
  expect_one_line(root, "/proc is read-only");
}

// --- how files are replaced

TEST_F(Output, AFileIsReplacedWithItsRightsBehindItsLink) {
  write_file(path("real.json"), "old");
  fs::permissions(path("real.json"), fs::perms(0640));
  fs::create_symlink("real.json", path("link.json"));
  write_file(path("link.json"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(read_text(path("real.json")), "new");
  EXPECT_EQ(fs::status(path("real.json")).permissions(), fs::perms(0640));
  const mode_t mask = umask(027);
  write_file(path("fresh"), "");
  umask(mask);
  EXPECT_EQ(fs::status(path("fresh")).permissions(), fs::perms(0640));
  expect_no_leftovers(folder_.path());
}

TEST_F(Output, AFileThatMustNotBeWrittenIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  write_file(path("mine"), "old");
  fs::permissions(path("mine"), fs::perms(0444));
  EXPECT_THROW(write_file(path("mine"), "new"), OutputError);
  EXPECT_THROW(require_writable_file("--json", path("mine")), OutputError);
  EXPECT_EQ(read_text(path("mine")), "old");
}

TEST_F(Output, StandardOutputUnderAnotherNameKeepsWhatItHas) {
  const Ran ran = holdfast(kRun + " --json /dev/stdout >" + path("all.txt"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::string all = read_text(path("all.txt"));
  EXPECT_NE(all.find("DOUBLE GRANT"), std::string::npos);
  EXPECT_NE(all.find("\"not_run\": []\n}\n"), std::string::npos);
  EXPECT_NE(all.find("\ntrace "), std::string::npos);
}

TEST_F(Output, AReaderNeverSeesHalfAFile) {
  // One process replaces a file of 4 MB again and again, this one reads it.
  const std::string file = path("big"), one(4 << 20, '1'), two(4 << 20, '2');
  write_file(file, one);
  const pid_t writer = fork();
  if (writer == 0) {
    for (int i = 0; i < 50; ++i) write_file(file, i % 2 == 0 ? two : one);
    _exit(0);
  }
  int status = 0;
  do {
    const std::string seen = read_text(file);
    ASSERT_TRUE(seen == one || seen == two) << seen.size();
  } while (waitpid(writer, &status, WNOHANG) == 0);
  EXPECT_EQ(status, 0);
}

// --- memory

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take all addresses there are

TEST_F(Output, NoMemoryIsALineAndWhatWasFoundIsTold) {
  // The second file needs more than there is: a stack for each of its clients.
  std::string text = read_text(kScenarios + "happy_path.toml");
  text = text.substr(0, text.find("[[expect]]")) + "[[expect]]\ncheck = \"lease-exclusion\"\n";
  text = std::regex_replace(text, std::regex("\nclients *= *\\d+"), "\nclients = 1000");
  text = std::regex_replace(text, std::regex("\nthreads *= *\\d+"), "\nthreads = 10");
  write_file(path("in/b.toml"), text);
  fs::copy_file(kBroken, path("in/a.toml"));
  for (const char* limit : {"250000", "330000"}) {
    const Ran ran = run_shell("export LC_ALL=C.UTF-8; ulimit -v " + std::string(limit) + "; " + kTool +
                              " run " + path("in") + " --jobs 1 --seed 1");
    EXPECT_EQ(ran.exit, 70) << ran.err;
    expect_one_line(ran, "holdfast: no memory left; raise the limit");
    EXPECT_TRUE(ran.says("restart-without-persistence: 1 run")) << ran.out;  // the first file
  }
}

TEST_F(Output, NoMemoryForThreadsIsNoSignal) {
  const Ran ran = run_shell("export LC_ALL=C.UTF-8; ulimit -v 150000; " + kTool + " " + kRun + " --jobs 256");
  if (ran.exit != 0) {
    EXPECT_EQ(ran.exit, 70);  // each thread wants memory of its own
    expect_one_line(ran, "holdfast: no memory left; raise the limit");
  }
}

TEST_F(Output, AHistoryThatDoesNotFitDoesNotKeepOthersFromBeingJudged) {
  const std::string file = history();
  const std::string event = R"({"type":"ok","f":"lost","process":1,"id":"a","owner":"b","token":7})";
  const Ran ran = run_shell("export LC_ALL=C.UTF-8; ulimit -v 150000; yes '" + event + "' | " + kTool +
                            " check - " + file);
  EXPECT_EQ(ran.exit, 70) << ran.err;
  EXPECT_NE(ran.err.find("-: no memory left"), std::string::npos) << ran.err;
  EXPECT_TRUE(ran.says(file + ": violated")) << ran.out;
}

#endif

}  // namespace
}  // namespace holdfast::tools
