// Foreign formats: every way of writing them that has been seen, and the errors for broken files.
#include "checker/history/formats.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

namespace holdfast::checker {
namespace {

ReadHistory read(const std::string& text, const FormatOptions& options = {}) {
  std::istringstream in(text);
  return read_history(in, options);
}

std::string error_of(const std::string& text, std::optional<Format> format = {}) {
  try {
    read(text, {.file = "f", .format = format});
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(Formats, NamesAndGuesses) {
  for (const Format format : {Format::jsonl, Format::jepsen_edn, Format::jepsen_log}) {
    EXPECT_EQ(parse_format(to_string(format)), format);
  }
  EXPECT_FALSE(parse_format("xml").has_value());
  EXPECT_EQ(guess_format("{\"type\":\"ok\"}"), Format::jsonl);
  EXPECT_EQ(guess_format("\n { \"type\" : \"ok\"}"), Format::jsonl);
  EXPECT_EQ(guess_format("{:type :ok}"), Format::jepsen_edn);
  EXPECT_EQ(guess_format("{\"type\" :ok}"), Format::jepsen_edn);
  EXPECT_EQ(guess_format("; a comment\n[{:type :ok}]"), Format::jepsen_edn);
  EXPECT_EQ(guess_format("({:type :ok})"), Format::jepsen_edn);
  EXPECT_EQ(guess_format("#jepsen.history.Op{:type :ok}"), Format::jepsen_edn);
  EXPECT_EQ(guess_format("INFO  jepsen.util - 0\t:invoke\t:read\tnil"), Format::jepsen_log);
}

TEST(Edn, EverythingSeenInTheWild) {
  for (const char* around : {"%", "[%]", "(%)", "  [ % ] ; the end\n"}) {
    std::string text = around;
    text.replace(text.find('%'), 1, R"(
      ; first
      {:type :invoke, :f :acquire, :process 0 :time 5 :index 7 :value nil}
      #jepsen.history.Op{:process 0, :type :ok, :f :acquire, :value [3 nil] :extra {:a #{1 2} "b" [\space \a 1.5 #inst "2020"]}}
      {"type" "invoke" "f" "read" "process" "worker 1"}
      {"type" :info, "f" :read, "process" "worker 1", "error" [:timeout "x"]}
      {:type :info :f :kill :process :nemesis :value {:n1 :killed}}
    )");
    const ReadHistory all = read(text);
    ASSERT_EQ(all.history.events().size(), 5U) << text;
    const auto& events = all.history.events();
    EXPECT_EQ(events[0].time_ns, 5);
    EXPECT_EQ(all.index_of(0), 7U);
    EXPECT_EQ(all.index_of(1), 1U);
    EXPECT_EQ(events[1].f, Function::acquire);
    EXPECT_EQ(all.history.text(events[2].process), "worker 1");
    EXPECT_EQ(events[3].type, EventType::info);
    EXPECT_EQ(events[4].f, Function::other);
    EXPECT_EQ(all.history.text(events[4].error), "kill");
    EXPECT_EQ(all.history.text(events[4].process), "nemesis");
  }
}

TEST(Edn, ValuesKeysAndTokens) {
  const ReadHistory all = read(R"(
    {:type :ok :process 1 :f :cas :value [1 2]}
    {:type :ok :process 1 :value [1 2] :f :read}
    {:type :ok :process 1 :f :write :value :initial}
    {:type :ok :process 1 :f :acquire :value {:fence 17 :client "n1"}}
  )");
  const auto& events = all.history.events();
  EXPECT_EQ(events[0].token, 1);
  EXPECT_EQ(events[0].value, 2);
  EXPECT_EQ(all.history.shown(events[1].value), "[1 2]");
  EXPECT_EQ(all.history.shown(events[2].value), ":initial");
  EXPECT_EQ(events[3].token, 17);
  const ReadHistory keyed = read(R"(
    {:type :ok :process 1 :f :cas :value [9 [1 2]]}
    {:type :ok :process 1 :f :acquire :value [:lock nil]}
    {:type :ok :process 1 :f :write :value #jepsen.independent.Tuple [9 4]}
  )",
                                 {.keyed = true});
  EXPECT_EQ(keyed.history.text(keyed.history.events()[0].key), "9");
  EXPECT_EQ(keyed.history.events()[0].token, 1);
  EXPECT_EQ(keyed.history.events()[0].value, 2);
  EXPECT_EQ(keyed.history.text(keyed.history.events()[1].key), "lock");
  EXPECT_EQ(keyed.history.events()[2].value, 4);
}

TEST(Edn, SaysWhereAndWhat) {
  EXPECT_EQ(error_of("[{:type :okay :f :read :process 1}]"),
            "f:1:9: found `okay`, expected :invoke, :ok, :fail or :info");
  EXPECT_EQ(error_of("[{:type :ok :f :read :process 1}\n 17]"), "f:2:2: found `17`, expected a map `{...}`");
  EXPECT_EQ(error_of("[{:type :ok :f :read :process 1}\n"), "f:2:1: the file ends here, expected `]`");
  EXPECT_EQ(error_of("{:type :ok\n :f :read}"),
            "f:1:1: the map has no :process, expected :type, :f and :process");
  EXPECT_EQ(error_of("{:type :ok :f :read :process 1 :time :noon}"),
            "f:1:38: found `:noon`, expected nanoseconds as a whole number");
  EXPECT_EQ(error_of("{:type :ok :f :read :process 1 :value \"x"),
            "f:1:41: the file ends here, expected the closing `\"`");
  const ReadHistory some = read("{:type :ok :f :read}\n{:type :ok :f :read :process 1}\n{:type\n",
                                {.file = "f", .keep_going = true});
  EXPECT_EQ(some.history.events().size(), 1U);
  EXPECT_EQ(some.skipped, 2U);
}

TEST(JepsenLog, LinesAndUnknownReads) {
  const ReadHistory all = read(
      "INFO  jepsen.core - Starting\n"
      "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 4]\n"
      "INFO  jepsen.util - 3\t:info\t:cas\t:timed-out\n"
      "INFO  jepsen.util - 0\t:fail\t:read\t:timed-out\n"
      "INFO  jepsen.util - 1\t:ok\t:write\t5\r\n");
  const auto& events = all.history.events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].token, 1);
  EXPECT_EQ(events[0].value, 4);
  EXPECT_EQ(all.history.text(events[1].error), "timed-out");
  EXPECT_EQ(events[3].value, 5);
  EXPECT_EQ(error_of("nothing of this kind\n"),
            "f:1:1: no line of Jepsen's log, expected `3<TAB>:invoke<TAB>:read<TAB>nil`");
  EXPECT_EQ(error_of("INFO x - 3\t:invoked\t:read\tnil\n"),
            "f:1:12: found `:invoked`, expected :invoke, :ok, :fail or :info");
}

TEST(Formats, RandomBytesAreRefusedOrRead) {
  EXPECT_TRUE(rc::check("no crash", [] {
    const auto text = *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                                      rc::gen::container<std::string>(rc::gen::elementOf(
                                          std::string("{}[]()\":;#\\ \n\ttypefokvaluprcs01-,_"))));
    for (const Format format : {Format::jsonl, Format::jepsen_edn, Format::jepsen_log}) {
      try {
        read(text, {.file = "f", .format = format});
      } catch (const FormatError& error) {
        RC_ASSERT(std::string_view(error.what()).starts_with("f:"));
      }
      read(text + "\n{}", {.file = "f", .format = Format::jsonl, .keep_going = true});
    }
  }));
}

// A history written as EDN is read back as it was.
TEST(Edn, RoundTrip) {
  EXPECT_TRUE(rc::check("round trip", [] {
    const bool keyed = *rc::gen::arbitrary<bool>();
    ReadHistory first;
    History& history = first.history;
    const auto count = *rc::gen::inRange(1, 10);
    for (int i = 0; i < count; ++i) {
      Event event;
      event.type = static_cast<EventType>(*rc::gen::inRange(0, 4));
      event.f = *rc::gen::elementOf(std::vector<Function>{Function::acquire, Function::release,
                                                          Function::read, Function::write, Function::cas});
      event.process =
          history.intern(*rc::gen::elementOf(std::vector<std::string>{"0", "17", "c1/0", "a \"b\""}));
      event.key = history.intern(*rc::gen::elementOf(std::vector<std::string>{"3", "stock:42"}));
      event.time_ns = *rc::gen::inRange(0, 1000);
      if (event.f == Function::cas || *rc::gen::arbitrary<bool>())
        event.value = Value(*rc::gen::inRange(0, 5));
      if (event.f == Function::cas) event.token = Value(*rc::gen::inRange(0, 5));
      history.append(event);
    }
    std::stringstream text;
    write_edn(first, text, keyed);
    const ReadHistory again = read_history(text, {.keyed = keyed});
    RC_ASSERT(to_jsonl(again.history) == to_jsonl(history));
  }));
}

}  // namespace
}  // namespace holdfast::checker
