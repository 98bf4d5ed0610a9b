// What `holdfast check` says of files that are broken, or of another kind than they look: never "holds".
#include <gtest/gtest.h>

#include <fstream>

#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

using testing::check;
using testing::expect_all;

class CheckFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "h.jsonl") {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // Exit 64 with that message behind the file's name.
  void refused(const std::string& text, const std::string& message, const std::string& name = "h.jsonl",
               const std::string& arguments = "") {
    const std::string path = file(text, name);
    const Ran ran = check(arguments + " " + path);
    EXPECT_EQ(ran.exit, 64) << ran.out;
    expect_all(ran, {path + message});
  }
  void unknown(const std::string& text, const std::string& arguments, std::string_view message) {
    const Ran ran = check(arguments + " " + file(text));
    EXPECT_EQ(ran.exit, 2) << ran.out;
    expect_all(ran, {": unknown\n", message});
  }
  TemporaryFolder folder_;
};

// Two owners hold one lock at a time, in lines that `change` may replace.
std::string double_grant(const std::string& f = "acquire") {
  return R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"ok","f":"acquire","time":2}
{"process":2,"type":"invoke","f":")" +
         f + R"(","time":3}
{"process":2,"type":"ok","f":")" +
         f + R"(","time":4}
)";
}

TEST_F(CheckFiles, AnUnknownFunctionHidesNothing) {
  EXPECT_EQ(check(file(double_grant())).exit, 1);
  EXPECT_EQ(check(file(double_grant("lock"))).exit, 1) << "another name of acquire";
  unknown(
      double_grant("aquire"), "",
      "2 events of the function `aquire`, which is not known here, first at 3:1, did you mean `acquire`?; "
      "--ignore aquire says that they do not matter");
  unknown(double_grant("Acquire"), "", "`Acquire`");
  EXPECT_EQ(check("--ignore aquire " + file(double_grant("aquire"))).exit, 0);
  const Ran edn =
      check(file("{:type :invoke :f :aquire :process 1}\n{:type :info :f :kill :process :nemesis}\n"
                 "{:type :invoke :f :acquire :process 2}\n",
                 "h.edn"));
  EXPECT_EQ(edn.exit, 2);
  expect_all(edn, {"1 event of the function `aquire`"});
  EXPECT_EQ(edn.out.find("kill"), std::string::npos) << "the nemesis may do anything";
}

TEST_F(CheckFiles, CompletionsFitTheirInvocations) {
  const std::string asks = R"({"process":1,"type":"invoke","f":"acquire","key":"k","time":5})";
  const auto completes = [&](const std::string& rest) {
    return asks + "\n" + R"({"process":1,"type":"ok",)" + rest + "}\n";
  };
  refused(
      completes(R"("f":"acquire","key":"k","time":6})"
                "\n"
                R"({"process":1,"type":"ok","f":"acquire","key":"k","time":7)"),
      ":3:1: index 2: process 1 completes acquire, and has none open, expected each process to do one thing "
      "after another");
  refused(completes(R"("f":"release","key":"k","time":6)"),
          ":2:1: index 1: process 1 completes release, but what it has open is acquire (index 0), expected");
  refused(
      completes(R"("f":"acquire","key":"j","time":6)"),
      ":2:1: index 1: process 1 completes acquire of j, but its open acquire (index 0) is of another key");
  refused(completes(R"("f":"acquire","key":"k","time":4)"),
          ":2:1: index 1: process 1 completes acquire, and has none open");
  refused(asks + "\n" + asks + "\n",
          ":2:1: index 1: process 1 invokes acquire while its acquire (index 0) is open");
  refused(R"({"process":1,"type":"invoke","f":"lost","key":"k","time":5})"
          "\n",
          ":1:1: index 0: process 1 invokes lost, which is told by one event: ok or info");
  refused(R"({"process":1,"type":"fail","f":"queue","key":"k","time":5})"
          "\n",
          ":1:1: index 0: process 1 fails queue, which is told by one event: ok or info");
  for (const std::string engine : {"search", "linear"}) {
    const Ran ran =
        check("--engine " + engine + " " + file(completes(R"("f":"acquire","key":"k","time":4)")));
    EXPECT_EQ(ran.exit, 64) << ran.out;
  }
}

// The order of lines means nothing but each process's own order.
TEST_F(CheckFiles, EventsAreSortedByTime) {
  const std::string first = R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"ok","f":"acquire","time":2,"valid_until":100}
{"process":1,"type":"invoke","f":"release","time":50}
{"process":1,"type":"ok","f":"release","time":51}
)";
  const std::string second = R"({"process":2,"type":"invoke","f":"acquire","time":3}
{"process":2,"type":"ok","f":"acquire","time":4,"valid_until":200}
)";
  for (const std::string& text : {first + second, second + first}) {
    const Ran ran = check(file(text));
    EXPECT_EQ(ran.exit, 1) << ran.out;
    expect_all(ran, {"times fall at 1 event; the events were sorted by time", "✗ lease-exclusion"});
  }
}

TEST_F(CheckFiles, AWrongUnitIsSuspected) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    const std::string p = std::to_string(i), at = std::to_string(1'700'000'000'000'000'000 + i * 1000),
                      then = std::to_string(1'700'000'000'000'000'000 + i * 1000 + 500);
    text += R"({"process":)" + p + R"(,"type":"invoke","f":"acquire","time":)" + at + "}\n";
    text += R"({"process":)" + p + R"(,"type":"ok","f":"acquire","time":)" + then +
            R"(,"valid_until":1700000000005})" + "\n";
  }
  unknown(text, "--check lease-exclusion", "would not be if it counted milliseconds");
  unknown(text, "", "would not be if it counted milliseconds");
}

TEST_F(CheckFiles, NothingToCompareIsUnknown) {
  const std::string refused = R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"fail","f":"acquire","time":2}
)";
  for (const std::string name : {"lease-exclusion", "mutual-exclusion"}) {
    unknown(refused, "--check " + name, "the history has no grants");
  }
  const std::string over = R"({"process":1,"type":"invoke","f":"acquire","time":7200000000000}
{"process":1,"type":"ok","f":"acquire","time":7200000000200,"valid_until":7200000000150}
)";
  unknown(over, "--check lease-exclusion", "there was nothing to compare");
  unknown(over, "", "there was nothing to compare");
}

TEST_F(CheckFiles, TokensAreComparedAsNumbers) {
  const auto tokens = [](const std::string& a, const std::string& b) {
    std::string text;
    int time = 0;
    for (const std::string& token : {a, b}) {
      for (const std::string& event :
           {R"("invoke","f":"acquire")" + std::string(), R"("ok","f":"acquire","token":)" + token,
            std::string(R"("invoke","f":"release")"), std::string(R"("ok","f":"release")")}) {
        text += R"({"process":1,"time":)" + std::to_string(++time) + R"(,"type":)" + event + "}\n";
      }
    }
    return text;
  };
  for (const std::string check_name :
       {"--check fencing-monotonic ", "--model fenced-mutex --check linearizable "}) {
    SCOPED_TRACE(check_name);
    EXPECT_EQ(check(check_name + file(tokens("\"9\"", "\"17\""))).exit, 0);
    const Ran fell = check(check_name + file(tokens("\"17\"", "\"9\"")));
    EXPECT_EQ(fell.exit, 1) << fell.out;
    EXPECT_EQ(fell.out.find("9223372036854775808"), std::string::npos) << fell.out;
    EXPECT_EQ(check(check_name + file(tokens("18446744073709551615", "18446744073709551616"))).exit, 0);
    EXPECT_EQ(check(check_name + file(tokens("18446744073709551616", "18446744073709551615"))).exit, 1);
    unknown(tokens("\"a\"", "\"b\""), check_name, "is no number, and tokens must rise");
  }
}

TEST_F(CheckFiles, ValuesAreComparedAsAWhole) {
  const auto read_after = [](const std::string& written, const std::string& read) {
    return "{:type :invoke :f :write :process 1 :value " + written +
           "}\n{:type :ok :f :write :process 1 :value " + written +
           "}\n{:type :invoke :f :read :process 1}\n{:type :ok :f :read :process 1 :value " + read + "}\n";
  };
  const auto exit_of = [&](const std::string& written, const std::string& read) {
    return check("--model register " + file(read_after(written, read), "h.edn")).exit;
  };
  EXPECT_EQ(exit_of("{:a 1, :b 2}", "{:b 2 :a 1}"), 0);
  EXPECT_EQ(exit_of("{:a 1}", "{:a 2}"), 1);
  EXPECT_EQ(exit_of("[1 2 3]", "(1, 2, 3)"), 0);
  EXPECT_EQ(exit_of("[1 2 3]", "[1 9 9]"), 1);
  EXPECT_EQ(exit_of("[:k 1]", "[:k 2]"), 1);
  EXPECT_EQ(exit_of("#{1 2}", "#{2 1}"), 0);
  EXPECT_EQ(exit_of("1", "\"1\""), 1);
  EXPECT_EQ(exit_of(":a", "\"a\""), 1);
  EXPECT_EQ(exit_of("-9223372036854775808", "nil"), 1);
  EXPECT_EQ(exit_of("18446744073709551615", "18446744073709551615N"), 0);
}

TEST_F(CheckFiles, OtherKindsOfFilesSayWhatTheyAre) {
  const std::string event = R"({"process":1,"type":"invoke","f":"acquire","time":1})";
  EXPECT_EQ(check("--model mutex " + file("\xEF\xBB\xBF" + event + "\n")).exit, 0) << "a byte order mark";
  refused(std::string("\xFF\xFE{\0\"\0", 6), ":1:1: this file is UTF-16, expected UTF-8");
  refused("[" + event + "]", ":1:1: found an array of JSON, expected one event a line; `jq -c '.[]' FILE`");
  refused("{\n  \"process\": 1,\n  \"type\": \"invoke\"\n}\n",
          ":1:2: found an event on several lines, expected one event a line; `jq -c . FILE`");
  refused(event + "\n" + R"({"process":1,"type":"ok","f":"acquire","time":NaN})" + "\n", ":2:");
  refused(event + "\n" + R"({"process":1,"type":"ok","f":"acquire","time":2,"odd":NaN})" + "\n",
          ":2:55: found");
  refused(event + "\n" + R"({"process":1,"type":"ok","f":"acquire"})" + "\n", ":2:1: no field `time`");
  refused(event + "\n" + event.substr(0, 20),
          ":2:21: the line ends here, expected a string in `\"`; the file is "
          "cut off here, and --keep-going judges what is there");
  const Ran kept = check("--keep-going --model mutex " + file(event + "\n" + event.substr(0, 20)));
  EXPECT_EQ(kept.exit, 0) << kept.out;
  expect_all(kept, {"the last line is cut off; what is before it was judged"});
}

TEST_F(CheckFiles, ATextLogHasTabsOrBlanks) {
  const auto log = [](const std::string& between) {
    std::string text;
    for (const char* line :
         {"0 :invoke :write 1", "0 :ok :write 1", "1 :invoke :read nil", "1 :ok :read 2"}) {
      std::string spaced;
      for (const char c : std::string(line)) spaced += c == ' ' ? between : std::string(1, c);
      text += "INFO  jepsen.util - " + spaced + "\n";
    }
    return text;
  };
  for (const std::string between : {"\t", " ", "   ", " \t"}) {
    const Ran ran = check("--model register " + file(log(between), "h.log"));
    EXPECT_EQ(ran.exit, 1) << ran.out;
  }
  refused(log("\t") + "INFO  jepsen.util - 2\t:invok\t:read\tnil\n",
          ":5:23: found `:invok`, expected :invoke, :ok, :fail or :info", "h.log");
  refused(log("\t") + "INFO  jepsen.util - 2\t:invoke",
          ":5:30: the line ends here, expected a function as :read", "h.log");
  refused(log("\t") + "INFO  jepsen.util - 2\t:invoke\t:cas\t[1", ":5:", "h.log");
}

// Acquires by different owners, one after another, all held.
std::string grants(const std::string& fields, int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    for (const std::string type : {"invoke", "ok"}) {
      text += R"({"process":)" + std::to_string(i) + R"(,"f":"acquire","key":"k","time":)" +
              std::to_string(10 * i + (type == "ok" ? 5 : 0)) + R"(,"type":")" + type + "\"" + fields + "}\n";
    }
  }
  return text;
}

TEST_F(CheckFiles, TheGuessedModelFitsTheFields) {
  const auto guessed = [&](const std::string& text, int exit, std::string_view model) {
    const Ran ran = check(file(text));
    EXPECT_EQ(ran.exit, exit) << ran.out;
    expect_all(ran, {model});
  };
  const std::string lease = R"(,"valid_until":1000)";
  guessed(grants("", 2), 1, "(mutex, guessed: the history has no valid_until,");
  guessed(grants(lease, 2), 1, "(leased-mutex, guessed: the history has valid_until,");
  guessed(grants(R"(,"mode":"read")", 2), 0,
          "(read-write, guessed: the history has no valid_until and mode read,");
  guessed(grants(lease + R"(,"mode":"read")", 2), 0, "(leased-read-write, guessed:");
  guessed(grants(lease + R"(,"mode":"write")", 2), 1, "(leased-mutex, guessed:");
  const std::string two = R"({"process":"p","type":"ok","f":"resize","key":"k","value":2,"time":1})"
                          "\n";
  guessed(two + grants("", 2), 0, "(semaphore, guessed: the history has no valid_until and resize,");
  guessed(two + grants("", 3), 1, "(semaphore, guessed:");
  guessed(two + grants(lease, 2), 0, "(leased-semaphore, guessed:");
  guessed(two + grants(lease, 3), 1, "(leased-semaphore, guessed:");
  guessed(grants(R"(,"permits":2)", 1), 2, "nobody says how many there are: --permits N does");
}

TEST_F(CheckFiles, TheGuessedModelFitsTheFunctions) {
  const auto guessed = [&](const std::string& text, int exit, std::string_view model) {
    const Ran ran = check(file(text, "h.edn"));
    EXPECT_EQ(ran.exit, exit) << ran.out;
    expect_all(ran, {model});
  };
  const auto did = [](const std::string& f, const std::string& value) {
    std::string text;
    for (const char* type : {"invoke", "ok"})
      text += "{:process 0, :type :" + std::string(type) + ", :f :" + f + ", :value " + value + "}\n";
    return text;
  };
  guessed(did("append", "\"a\"") + did("get", "\"a\""), 0, "(kv, guessed: the history has append,");
  guessed(did("put", "\"a\"") + did("get", "\"b\""), 1, "(register, guessed:");
  guessed(did("get", "\"\"") + did("put", "\"a\""), 0,
          "(kv, guessed: the history has reads of an empty text");
  guessed(did("txn", "[[:w :x 1]]") + did("txn", "[[:r :x 2]]"), 1, "(multi-register, guessed:");
  guessed(did("txn", "[[:append :x 1]]"), 2, "a txn with [:append :x 1], expected a list of [:r");
  guessed(did("add", "1") + did("read", "#{1}"), 0,
          "(set, guessed: the history has add, and reads of lists,");
  guessed(did("add", "1") + did("read", "2"), 1, "(counter, guessed:");
  guessed(did("add", "1"), 2, "--model set or --model counter says it");
  guessed(did("enqueue", "1") + did("dequeue", "2"), 1, "(unordered-queue, guessed:");
  guessed(did("enqueue", "1") + did("dequeue", "1"), 2, "nobody says whether its order counts");
  guessed(did("enqueue", "1") + did("read", "1"), 2, "the model has no read, and the history has one");
  guessed(did("acquire", "nil") + "{:process 0, :type :info, :f :crash}\n" +
              "{:process 1, :type :invoke, :f :acquire}\n{:process 1, :type :ok, :f :acquire}\n",
          0, "(session-lock, guessed: the history has no valid_until, and clients that crash,");
  EXPECT_EQ(check("--model fifo-queue " + file(did("enqueue", "1") + did("dequeue", "1"), "h.edn")).exit, 0);
}

// A hold means the same in each check: what one blames, the other does, and what one passes, the other does.
TEST_F(CheckFiles, ChecksAgreeOnHolds) {
  const auto agree = [&](const std::string& text, const std::string& model, int exit) {
    SCOPED_TRACE(text);
    for (const std::string name : {"linearizable", "mutual-exclusion"}) {
      EXPECT_EQ(check("--model " + model + " --permits 2 --check " + name + " " + file(text)).exit, exit)
          << name;
    }
  };
  const auto line = [](int time, const std::string& process, const std::string& type, const std::string& f,
                       const std::string& rest = "") {
    return R"({"time":)" + std::to_string(time) + R"(,"process":")" + process + R"(","type":")" + type +
           R"(","f":")" + f + R"(","key":"k")" + rest + "}\n";
  };
  const auto did = [&](int time, const std::string& process, const std::string& f,
                       const std::string& rest = "") {
    return line(time, process, "invoke", f, rest) + line(time + 1, process, "ok", f, rest);
  };
  const std::string read = R"(,"mode":"read")", write = R"(,"mode":"write")";
  // A writer that reads before it gives the writing back.
  agree(did(10, "a", "acquire", write) + did(20, "a", "acquire", read) + did(30, "a", "release", write) +
            did(40, "b", "acquire", read),
        "read-write", 0);
  // Two times one permit, given back at once.
  const std::string both = R"(,"permits":2)";
  agree(did(10, "a", "acquire") + did(20, "a", "acquire") + did(30, "a", "release", both) +
            did(40, "b", "acquire", both),
        "semaphore", 0);
  // A death and a notice end a hold.
  agree(did(10, "a/0", "acquire") + line(20, "a", "info", "crash") + did(30, "b/0", "acquire"), "mutex", 0);
  agree(did(10, "a/0", "acquire", R"(,"id":"x")") + line(20, "a/watchdog", "ok", "lost", R"(,"id":"x")") +
            did(30, "b/0", "acquire", R"(,"id":"y")"),
        "mutex", 0);
  // An id is of its owner alone.
  agree(did(10, "a", "acquire", R"(,"id":"x")") + did(20, "b", "acquire", R"(,"id":"x")"), "reentrant-mutex",
        1);
  agree(did(10, "a", "acquire", R"(,"id":"x")") + line(20, "b", "invoke", "release", R"(,"id":"x")") +
            line(21, "b", "fail", "release", R"(,"id":"x","error":"not-owner")") + did(30, "c", "acquire"),
        "mutex", 1);
  agree(did(10, "a", "acquire") + did(20, "a", "release") + did(30, "b", "release"), "mutex", 1);
  // Who asks to release relies on it no longer, whatever the answer.
  agree(did(10, "a", "acquire") + line(20, "a", "invoke", "release") +
            line(21, "a", "fail", "release", R"(,"error":"unavailable")") + did(30, "b", "acquire"),
        "mutex", 0);
  agree(did(10, "a", "acquire") + line(20, "a", "invoke", "release") +
            line(21, "a", "fail", "release", R"(,"error":"not-owner")") + did(30, "b", "acquire"),
        "mutex", 0);
}

// A device or a binary file has no lines; nobody reads it until the memory is full.
TEST_F(CheckFiles, AFileWithoutLinesHasAnEnd) {
  const Ran zeros = check("/dev/zero");
  EXPECT_EQ(zeros.exit, 64) << zeros.out;
  expect_all(zeros, {"/dev/zero:1:1: a line of more than 64 MiB, expected an event"});
  EXPECT_EQ(check("--format jsonl --keep-going /dev/zero").exit, 64);
  const Ran edn = check("--format jepsen-edn --keep-going /dev/zero");
  EXPECT_EQ(edn.exit, 64) << edn.out;
  expect_all(edn, {"/dev/zero:1:1: a word or a string of more than 64 MiB, expected events"});
}

}  // namespace
}  // namespace holdfast::tools
