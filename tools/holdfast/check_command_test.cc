// `holdfast check` as its users meet it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

const std::string kTestdata = holdfast::testing::source_path("checker/testdata/");

struct Ran {
  int exit = -1;
  std::string out;
};

Ran check(const std::string& arguments, const std::string& before = "") {
  const std::string line =
      before + " " + holdfast::testing::build_path("holdfast check ") + arguments + " 2>&1";
  Ran ran;
  std::FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ran.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_all(const Ran& ran, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
}

constexpr const char* kTwoOwners = R"([{:type :invoke :f :acquire :process 0 :value nil}
 {:type :ok, :f :acquire, :process 0, :value nil} ; a comment
 #jepsen.history.Op{:index 70, :type :invoke, :f :acquire, :process 1, :value nil}
 {"type" "ok", "f" "acquire", "process" 1, "value" nil, :index 71}
 {:type :invoke, :f :release, :process 0, :value nil :index 72}
 {:type :info, :f :release, :process 0, :value nil :index 73}])";

class CheckFile : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
};

// --- verdicts that others gave: the folder `shared/histories` beside the repository
struct Known {
  const char* file;
  const char* arguments;
  bool valid;
  const char* told;  // the first violating event, where one is named
};

const Known kKnown[] = {
    {"mutex-etcd-invalid.edn", "--model mutex", false,
     "index 1119: acquire of process 0 completes while process 3 holds since index 1109"},
    {"mutex-1000-10-clients-valid.edn", "--model mutex", true, ""},
    {"mutex-1000-10-clients-invalid.edn", "--model mutex", false,
     "index 1995: acquire of process 18 completes while process 2 holds"},
    {"mutex-1018-100-keys-valid.edn", "--model mutex --keyed", true, ""},
    {"mutex-1018-100-keys-invalid.edn", "--model mutex --keyed", false,
     "index 1904: acquire of process 29 completes while process 13 holds"},
    {"mutex-507-33-unknown-valid.edn", "--model mutex", true, ""},
    {"mutex-509-33-unknown-invalid.edn", "--model mutex", false,
     "index 1007: acquire of process 45 completes while process 36 holds"},
    {"cas-failure-invalid.edn", "--model cas-register --init 0", false, ""},
    {"cas-immediate-failure-invalid.edn", "--model cas-register --init 0", false, ""},
    {"cas-rethink-fail-minimal-invalid.edn", "--model cas-register --init 0", false, ""},
    {"cas-register-bug-valid.edn", "--model cas-register --init 0", true, ""},
    {"cas-memstress3-0-valid.edn", "--model cas-register --init 0", true, ""},
    {"cas-memstress3-1-valid.edn", "--model cas-register --init 0", true, ""},
    {"cas-etcd-000-invalid.log", "--model cas-register --init nil", false, ""},
    {"cas-etcd-002-valid.log", "--model cas-register --init nil", true, ""},
};

TEST(Check, ReproducesKnownVerdicts) {
  const std::string folder = holdfast::testing::source_path("../shared/histories/");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no folder ../shared/histories beside the repository";
  for (const Known& known : kKnown) {
    const bool log = std::string_view(known.file).ends_with(".log");
    for (const std::string format : {"", log ? "--format jepsen-log" : "--format jepsen-edn"}) {
      const Ran ran = check(std::string(known.arguments) + " " + format + " " + folder + known.file);
      EXPECT_EQ(ran.exit, known.valid ? 0 : 1) << known.file << "\n" << ran.out;
      expect_all(ran, {known.valid ? ": holds\n" : ": violated\n", known.told});
    }
  }
}

TEST(Check, KnownWitnessesAreViolationsByThemselves) {
  const std::string folder = holdfast::testing::source_path("../shared/histories/");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no folder ../shared/histories beside the repository";
  for (const Known& known : kKnown) {
    if (known.valid) continue;
    const TemporaryFolder out;
    const std::string witness = out.path() + "/w.edn";
    check(std::string(known.arguments) + " --witness " + witness + " " + folder + known.file);
    const Ran again = check(std::string(known.arguments) + " " + witness);
    EXPECT_EQ(again.exit, 1) << known.file << "\n" << again.out;
    expect_all(again, {known.told});
    if (std::string_view(known.file) ==
        "cas-failure-invalid.edn") {  // the read that sticks, and the write before
      expect_all(again, {"index 491: read of process 70"});
      const std::string text = read(witness);
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
    }
  }
}

// --- histories drawn by the project
TEST(Check, DrawnHistories) {
  expect_all(check("--model mutex " + kTestdata + "drawn_mutex_valid.edn"),
             {": holds", "linearizable (mutex, engine linear)"});
  const Ran invalid = check("--model mutex " + kTestdata + "drawn_mutex_invalid.edn");
  EXPECT_EQ(invalid.exit, 1);
  expect_all(invalid, {"completes while process", "smallest sub-history that shows it (4 events)"});
  for (const char* engine : {"linear", "search"}) {
    EXPECT_EQ(
        check(std::string("--engine ") + engine + " --model mutex " + kTestdata + "drawn_mutex_valid.edn")
            .exit,
        0);
    EXPECT_EQ(
        check(std::string("--engine ") + engine + " --model mutex " + kTestdata + "drawn_mutex_invalid.edn")
            .exit,
        1);
  }
  EXPECT_EQ(check("--model mutex --keyed " + kTestdata + "drawn_keyed_invalid.edn").exit, 1);
}

TEST_F(CheckFile, EveryWayToWriteEdn) {
  const Ran ran = check(file("h.edn", kTwoOwners));
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {"index 71: acquire of process 1 completes while process 0 holds since index 1",
                   "mutex, guessed"});
}

TEST_F(CheckFile, StandardInputSeveralFilesAndTheTotal) {
  const std::string bad = file("bad.edn", kTwoOwners), good = kTestdata + "drawn_mutex_valid.edn";
  const Ran ran = check("--model mutex - " + good, "cat " + bad + " |");
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {"✗ -: violated", "✓ " + good + ": holds", "2 histories: 1 hold, 1 violated, 0 unknown"});
}

TEST_F(CheckFile, BrokenLine) {
  const std::string line = R"({"process":"a","type":"ok","f":"acquire","key":"k","time":1})";
  const std::string broken =
      file("h.jsonl", line + "\n{\"process\":\"a\",\"type\":\"okay\"}\n" + line + "\n");
  const Ran ran = check("--model mutex " + broken);
  EXPECT_EQ(ran.exit, 64);
  expect_all(ran, {broken + ":2:23: found `\"okay\"`, expected invoke, ok, fail or info"});
  const Ran kept = check("--model mutex --keep-going " + broken);
  expect_all(kept, {"1 broken lines skipped, the first: " + broken + ":2:23"});
}

TEST_F(CheckFile, WrongFlagsSayWhatWasMeant) {
  const std::string any = file("h.edn", kTwoOwners);
  const auto told = [&](const std::string& arguments, std::string_view part) {
    const Ran ran = check(arguments);
    EXPECT_EQ(ran.exit, 64) << ran.out;
    expect_all(ran, {part});
  };
  told("--model mutexx " + any, "did you mean `mutex`?");
  told("--model mutex --check lease-exclusio " + any, "did you mean `lease-exclusion`?");
  told("--model mutex --format ednn " + any, "expected `jsonl`");
  told("--model mutex --engine liner " + any, "did you mean `linear`?");
  told("--model mutex " + any + ".no", "no such file");
}

TEST_F(CheckFile, AProcessThatDoesTwoThingsAtOnceIsABadFile) {
  const std::string any =
      file("h.edn", "{:type :invoke :f :acquire :process 0}{:type :invoke :f :acquire :process 0}");
  const Ran ran = check("--model mutex " + any);
  EXPECT_EQ(ran.exit, 64);
  expect_all(ran, {"one thing after another"});
}

// --- checks beyond linearizability, in our own format
std::string event(int time, const char* process, const char* type, const char* f,
                  const std::string& more = "") {
  return "{\"time\":" + std::to_string(time) + ",\"process\":\"" + process + "\",\"type\":\"" + type +
         "\",\"f\":\"" + f + "\",\"key\":\"k\"" + more + "}\n";
}

TEST_F(CheckFile, ChecksOfOurOwnHistories) {
  const std::string h = event(1, "a", "invoke", "acquire") + event(2, "a", "ok", "acquire", ",\"token\":7") +
                        event(3, "a", "invoke", "release") + event(4, "a", "ok", "release") +
                        event(5, "b", "invoke", "acquire") + event(6, "b", "ok", "acquire", ",\"token\":7") +
                        event(7, "b", "invoke", "write", ",\"value\":1") +
                        event(8, "b", "ok", "write", ",\"value\":1");
  const std::string path = file("h.jsonl", h);
  const Ran ran = check("--model mutex " + path);
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {"✓ linearizable", "✓ mutual-exclusion", "✗ fencing-monotonic: index 5",
                   "✓ effects-inside-hold", "not looked at: lease-exclusion (no valid_until)"});
  const Ran asked = check("--model mutex --check linearizable --check lease-exclusion " + path);
  EXPECT_EQ(asked.exit, 2);  // asked for by name, a missing field is unknown
  expect_all(asked, {"? lease-exclusion: the history has no valid_until"});
}

TEST_F(CheckFile, Json) {
  const std::string path = file("h.edn", kTwoOwners);
  const Ran ran = check("--model mutex --json " + path);
  EXPECT_EQ(ran.exit, 1);
  const auto document = nlohmann::json::parse(ran.out);
  const auto& history = document.at("histories").at(0);
  EXPECT_EQ(history.at("verdict"), "violated");
  const auto& violation = history.at("violations").at(0);
  EXPECT_EQ(violation.at("index"), 71);
  EXPECT_EQ(violation.at("holder").at("index"), 1);
  EXPECT_EQ(violation.at("witness"), (nlohmann::json{0, 1, 70, 71}));
  const std::string to = folder_.path() + "/out.json";
  check("--model mutex --json=" + to + " " + path);
  EXPECT_EQ(nlohmann::json::parse(read(to)).at("histories").size(), 1u);
}

TEST_F(CheckFile, AsciiHasNothingBeyondAscii) {
  const Ran ran = check("--model mutex --ascii " + file("h.edn", kTwoOwners));
  const std::size_t begin = ran.out.find("DOUBLE HOLD");
  ASSERT_NE(begin, std::string::npos) << ran.out;
  for (const char c : ran.out.substr(begin)) EXPECT_GE(c, 0);
}

// Jepsen's failed operations never happened: the failed release of a holder ends nothing, in no engine and no
// picture.
TEST_F(CheckFile, AFailedReleaseEndsNoHold) {
  const Ran ran = check("--model mutex " + file("h.edn", R"(
    {:process 0 :type :invoke :f :acquire :time 1000000}
    {:process 0 :type :ok :f :acquire :time 2000000}
    {:process 0 :type :invoke :f :release :time 3000000}
    {:process 0 :type :fail :f :release :error :not-held :time 4000000}
    {:process 1 :type :invoke :f :acquire :time 5000000}
    {:process 1 :type :ok :f :acquire :time 7000000})"));
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {"index 5: acquire of process 1 completes while process 0 holds since index 1",
                   "two owners from", "release 1 fail"});
}

TEST_F(CheckFile, Timeline) {
  const std::string page = folder_.path() + "/t.html";
  check("--model mutex --timeline " + page + " " + file("h.edn", kTwoOwners));
  EXPECT_NE(read(page).find("was granted the lock while"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::tools
