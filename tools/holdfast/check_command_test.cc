// `holdfast check` as its users meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checker/testing/gallery.h"
#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

using testing::check;
using testing::expect_all;

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

// The text of one of the drawn histories with a known verdict.
std::string drawn(std::string_view name) {
  for (const checker::testing::KnownHistory& known : checker::testing::gallery()) {
    if (known.name == name) return text_of(known);
  }
  ADD_FAILURE() << name;
  return "";
}

TEST_F(CheckFile, EveryEngineIsTold) {
  const std::string valid = file("v.edn", drawn("mutex_1000_operations_10_clients_valid"));
  const std::string invalid = file("i.edn", drawn("mutex_1000_operations_10_clients_invalid"));
  expect_all(check("--model mutex " + valid), {": holds", "linearizable (mutex, engine linear)"});
  expect_all(check("--model mutex " + invalid),
             {"completes while process", "smallest sub-history that shows it (4 events)"});
  for (const std::string engine : {"linear", "search"}) {
    EXPECT_EQ(check("--engine " + engine + " --model mutex " + valid).exit, 0);
    EXPECT_EQ(check("--engine " + engine + " --model mutex " + invalid).exit, 1);
  }
}

// checker/HISTORY.md says what the command prints for its example.
TEST_F(CheckFile, TheExampleOfTheHistoryPage) {
  const std::string page = read_text(holdfast::testing::source_path("checker/HISTORY.md"));
  const auto block = [&](const std::string& begin) {
    const std::size_t from = page.find(begin);
    EXPECT_NE(from, std::string::npos) << begin;
    return page.substr(from + begin.size(), page.find("```", from + begin.size()) - from - begin.size());
  };
  const std::string path = file("example.jsonl", block("```jsonl\n"));
  std::string expected = block("```console\n$ build/holdfast check example.jsonl\n");
  expected.replace(expected.find("example.jsonl"), 13, path);
  EXPECT_EQ(check(path).out.substr(0, expected.size()), expected);
}

TEST_F(CheckFile, EveryWayToWriteEdn) {
  const Ran ran = check(file("h.edn", kTwoOwners));
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {"index 71: acquire of process 1 completes while process 0 holds since index 1",
                   "mutex, guessed: the history has no valid_until"});
}

TEST_F(CheckFile, StandardInputSeveralFilesAndTheTotal) {
  const std::string bad = file("bad.edn", kTwoOwners),
                    good = file("good.edn", drawn("mutex_508_operations_33_unknown_valid"));
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
  expect_all(kept, {"3 broken lines or events skipped, the first: " + broken + ":2:23", ": unknown"});
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
  EXPECT_EQ(nlohmann::json::parse(read_text(to)).at("histories").size(), 1u);
}

TEST_F(CheckFile, AsciiHasNothingBeyondAscii) {
  const std::string history = file("h.edn", kTwoOwners);
  for (const auto& [flag, before] : {std::pair{"--ascii ", ""}, std::pair{"", "LC_ALL=C"}}) {
    const Ran ran = check(std::string("--model mutex ") + flag + history, before);
    EXPECT_NE(ran.out.find("DOUBLE HOLD"), std::string::npos) << ran.out;
    EXPECT_TRUE(std::all_of(ran.out.begin(), ran.out.end(), [](char c) { return c >= 0; })) << ran.out;
  }
}

TEST_F(CheckFile, PicturesAreAsWideAsTheTerminal) {
  const std::string history = file("h.edn", kTwoOwners);
  const auto axis = [&](const std::string& columns) {
    const std::string out = check("--model mutex --ascii " + history, "COLUMNS=" + columns).out;
    const std::size_t end = out.find("\nA 0"), begin = out.rfind('\n', end - 1);
    return end - begin - 1;
  };
  EXPECT_LE(axis("80"), 80u);
  EXPECT_GT(axis("80"), 70u);
  EXPECT_LE(axis("160"), 160u);
  EXPECT_GT(axis("160"), 145u);
}

TEST_F(CheckFile, APlaceThatCannotBeWrittenIsExit74) {
  const std::string history = file("h.edn", kTwoOwners);
  for (const char* flag : {"--timeline", "--witness", "--json"}) {
    const Ran ran = check(std::string(flag) + "=" + history + "/below " + history);
    EXPECT_EQ(ran.exit, 74) << ran.out;
    expect_all(ran, {flag, "cannot be written"});
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;  // and nothing was judged
  }
}

// Jepsen's failed operations never happened: a failed release ends no hold, in no engine and no picture.
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
  EXPECT_NE(read_text(page).find("was granted the lock while"), std::string::npos);
}

// The page says of each check what the report says, one violation by one.
TEST_F(CheckFile, TimelineSaysAsManyViolationsAsTheReport) {
  const auto event = [](int ms, const std::string& process, const std::string& type, const std::string& f,
                        const std::string& more) {
    return "{\"time\":" + std::to_string(ms) + "000000,\"process\":\"" + process + "/0\",\"type\":\"" + type +
           "\",\"f\":\"" + f + "\",\"key\":\"k\",\"owner\":\"" + process + ":0\"" + more + "}\n";
  };
  std::string history;
  for (int i = 0; i < 4; ++i) {  // four owners at once
    const std::string process = "c" + std::to_string(i + 1), id = ",\"id\":\"" + process + "-1\"";
    history += event(10 * i, process, "invoke", "acquire", "");
    history += event(10 * i + 5, process, "ok", "acquire", id + ",\"valid_until\":900000000");
  }
  for (int i = 0; i < 4; ++i) {
    const std::string process = "c" + std::to_string(i + 1);
    history += event(100 + i, process, "invoke", "release", ",\"id\":\"" + process + "-1\"");
  }
  const std::string page = folder_.path() + "/t.html";
  const Ran ran =
      check("--check lease-exclusion --check mutual-exclusion --check linearizable --json --timeline " +
            page + " " + file("h.jsonl", history));
  EXPECT_EQ(ran.exit, 1);
  std::vector<std::pair<std::string, std::uint64_t>> said, drawn;
  const nlohmann::json report = nlohmann::json::parse(ran.out);
  for (const nlohmann::json& line : report["histories"][0]["checks"]) {
    said.emplace_back(line["check"], line["violations"]);
  }
  const std::string html = read_text(page), begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t from = html.find(begin) + begin.size();
  const nlohmann::json data = nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
  for (const nlohmann::json& line : data["checks"]) drawn.emplace_back(line["name"], line["violations"]);
  EXPECT_EQ(drawn, said);
  ASSERT_EQ(said.size(), 3U);
  EXPECT_GT(said[0].second, 1U);
}

}  // namespace
}  // namespace holdfast::tools
