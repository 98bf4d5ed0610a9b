// What the oracle (oracle_test.cc) found in readers, holds, checks and engines, each in the fewest lines.
#include <gtest/gtest.h>

#include <sstream>

#include "checker/checks/check.h"
#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"

namespace holdfast::checker {
namespace {

History read(const std::string& text) {
  std::istringstream in(text);
  return read_history(in, {}).history;
}

Outcome checked(const std::string& text, std::string_view check, const CheckContext& context = {}) {
  return find_check(check)->run(read(text), context).outcome;
}

Outcome linearizable(const std::string& text, const std::string& model, bool jepsen = false,
                     Engine engine = Engine::automatic) {
  LinearizabilityOptions options;
  options.model = model;
  options.model_options.permits = 2;
  options.jepsen = jepsen;
  options.engine = engine;
  return check_linearizable(read(text), options).outcome;
}

TEST(OracleFound, AFailedReleaseOfEdnNeverHappenedForAnyCheck) {
  const std::string text = R"({:process 0 :type :invoke :f :acquire :time 0}
                              {:process 0 :type :ok :f :acquire :time 1}
                              {:process 0 :type :invoke :f :release :time 2}
                              {:process 0 :type :fail :f :release :error :not-owner :time 3}
                              {:process 1 :type :invoke :f :acquire :time 4}
                              {:process 1 :type :ok :f :acquire :time 5})";
  EXPECT_EQ(linearizable(text, "mutex", true), Outcome::violated);
  EXPECT_EQ(checked(text, "mutual-exclusion"), Outcome::violated);
}

TEST(OracleFound, ALossEndsAHoldInEdnToo) {
  for (const char* end :
       {"{:process 0 :type :info :f :lost :time 2}", "{:process 0 :type :info :f :crash :time 2}"}) {
    const std::string text = R"({:process 0 :type :invoke :f :acquire :time 0}
                                {:process 0 :type :ok :f :acquire :time 1})" +
                             std::string(end) + R"({:process 1 :type :invoke :f :acquire :time 4}
                                                   {:process 1 :type :ok :f :acquire :time 5})";
    EXPECT_EQ(linearizable(text, "mutex", true), Outcome::holds) << end;
    EXPECT_EQ(checked(text, "mutual-exclusion"), Outcome::holds) << end;
  }
}

TEST(OracleFound, ToldInTimeComparesNothingWithoutGrants) {
  EXPECT_EQ(checked(R"({"process":1,"type":"invoke","f":"acquire"})", "told-in-time"), Outcome::unknown);
}

TEST(OracleFound, AFirstFieldThatIsNullIsJson) {
  EXPECT_EQ(guess_format(R"({"owner" :null,"process":1,"type":"ok","f":"acquire"})"), Format::jsonl);
  EXPECT_EQ(guess_format(R"({"note" :true})"), Format::jsonl);
  EXPECT_EQ(guess_format(R"({"type" :ok})"), Format::jepsen_edn);
}

TEST(OracleFound, WhatOnlyTheInvocationNamesCounts) {
  const std::string readers = R"({"time":0,"process":1,"type":"invoke","f":"acquire","mode":"read"}
{"time":1,"process":1,"type":"ok","f":"acquire"}
{"time":2,"process":2,"type":"invoke","f":"acquire","mode":"read"}
{"time":3,"process":2,"type":"ok","f":"acquire"})";
  EXPECT_EQ(checked(readers, "mutual-exclusion"), Outcome::holds);
  const std::string permits = R"({"time":0,"process":1,"type":"invoke","f":"acquire","permits":2}
{"time":1,"process":1,"type":"ok","f":"acquire"}
{"time":2,"process":2,"type":"invoke","f":"acquire"}
{"time":3,"process":2,"type":"ok","f":"acquire"})";
  EXPECT_EQ(checked(permits, "mutual-exclusion", {.permits = 2}), Outcome::violated);
}

TEST(OracleFound, AReleaseAfterALossShowsThatTheHoldWasStillThere) {
  const std::string text = R"({"time":0,"process":1,"type":"invoke","f":"acquire"}
{"time":1,"process":1,"type":"ok","f":"acquire"}
{"time":2,"process":1,"type":"info","f":"lost"}
{"time":3,"process":2,"type":"invoke","f":"acquire"}
{"time":4,"process":2,"type":"ok","f":"acquire"}
{"time":5,"process":1,"type":"invoke","f":"release"}
{"time":6,"process":1,"type":"ok","f":"release"})";
  for (const Engine engine : {Engine::automatic, Engine::linear, Engine::search}) {
    EXPECT_EQ(linearizable(text, "mutex", false, engine), Outcome::violated) << to_string(engine);
  }
}

TEST(OracleFound, AnAcquireThatIsOpenWhileAnotherThreadLosesTheHoldMayComeAfterwards) {
  const std::string text = R"({"time":0,"process":"c/0","owner":"c","type":"invoke","f":"acquire"}
{"time":1,"process":"c/0","owner":"c","type":"ok","f":"acquire"}
{"time":2,"process":"c/1","owner":"c","type":"invoke","f":"acquire"}
{"time":3,"process":"c/0","owner":"c","type":"info","f":"lost"}
{"time":4,"process":"c/1","owner":"c","type":"ok","f":"acquire"})";
  EXPECT_EQ(linearizable(text, "mutex"), Outcome::holds);
}

TEST(OracleFound, NotOwnerEndsEveryEntryBeforeItsAnswerComes) {
  const std::string text = R"({"time":0,"process":1,"type":"invoke","f":"acquire"}
{"time":1,"process":1,"type":"ok","f":"acquire"}
{"time":2,"process":1,"type":"invoke","f":"acquire"}
{"time":3,"process":1,"type":"ok","f":"acquire"}
{"time":4,"process":1,"type":"invoke","f":"release"}
{"time":5,"process":2,"type":"invoke","f":"acquire"}
{"time":6,"process":2,"type":"ok","f":"acquire"}
{"time":7,"process":1,"type":"fail","f":"release","error":"not-owner"})";
  EXPECT_EQ(linearizable(text, "reentrant-mutex"), Outcome::holds);
}

TEST(OracleFound, ReentriesMayBeSpeltWithAnotherModeThatIsExclusive) {
  const std::string text = R"({"time":0,"process":1,"type":"invoke","f":"acquire"}
{"time":1,"process":1,"type":"ok","f":"acquire"}
{"time":2,"process":1,"type":"invoke","f":"acquire","mode":"write"}
{"time":3,"process":1,"type":"ok","f":"acquire","mode":"write"}
{"time":4,"process":1,"type":"invoke","f":"release"}
{"time":5,"process":1,"type":"fail","f":"release","error":"not-owner"}
{"time":6,"process":2,"type":"invoke","f":"acquire"}
{"time":7,"process":2,"type":"ok","f":"acquire"})";
  EXPECT_EQ(checked(text, "mutual-exclusion", {.reentrant = true}), Outcome::holds);
}

constexpr std::string_view kChanges = R"({"time":0,"process":"a","type":"ok","f":"resize","value":4}
{"time":0,"process":"a","type":"ok","f":"resize","value":1}
{"time":1,"process":1,"type":"invoke","f":"acquire","permits":2}
{"time":2,"process":1,"type":"ok","f":"acquire","permits":2,"valid_until":9})";

TEST(OracleFound, ChangesByOneProcessKeepTheirOrderAtOneTime) {
  EXPECT_EQ(linearizable(std::string(kChanges), "leased-semaphore"), Outcome::violated);
}

TEST(OracleFound, AChangeOfUnknownOutcomeMayShowAfterLaterOnes) {
  const std::string text = R"({"time":0,"process":"a","type":"invoke","f":"resize","value":2}
{"time":1,"process":"a","type":"info","f":"resize","value":2}
{"time":2,"process":"a","type":"ok","f":"resize","value":1}
{"time":3,"process":1,"type":"invoke","f":"acquire","permits":2}
{"time":4,"process":1,"type":"ok","f":"acquire","permits":2})";
  EXPECT_EQ(checked(text, "mutual-exclusion", {.permits = 1}), Outcome::holds);
}

TEST(OracleFound, HoldsThatBeginTogetherAreTakenInTheOrderThatHasRoom) {
  const std::string text = R"({"time":0,"process":1,"type":"invoke","f":"acquire"}
{"time":1,"process":"a","type":"ok","f":"resize","value":2}
{"time":2,"process":2,"type":"invoke","f":"acquire","permits":2}
{"time":3,"process":1,"type":"ok","f":"acquire"}
{"time":3,"process":2,"type":"ok","f":"acquire","permits":2})";
  EXPECT_EQ(checked(text, "mutual-exclusion", {.permits = 3}), Outcome::holds);
}

// A writer whose second grant is over at once still reads under its first one.
TEST(OracleFound, AWriterReadsUnderTheHoldThatLasts) {
  const History history = from_jsonl(R"({"process":1,"type":"invoke","f":"acquire","time":20}
{"process":1,"type":"ok","f":"acquire","time":40,"id":"a","valid_until":70}
{"process":1,"type":"invoke","f":"acquire","time":40,"id":"a","mode":"write"}
{"process":1,"type":"ok","f":"acquire","time":40,"id":"a","valid_until":30}
{"process":1,"type":"invoke","f":"acquire","time":40,"mode":"read"}
{"process":1,"type":"ok","f":"acquire","time":40,"id":"a","valid_until":120}
)");
  for (const Engine engine : {Engine::linear, Engine::search}) {
    LinearizabilityOptions options;
    options.model = "leased-read-write";
    options.engine = engine;
    EXPECT_EQ(check_linearizable(history, options).outcome, Outcome::holds) << to_string(engine);
  }
}

// Who releases another's acquisition gives back nothing of his own, for linearizable as for the other checks;
// and where that succeeds, something is wrong.
TEST(OracleFound, ASuccessfulReleaseOfAForeignIdIsOfNobody) {
  const std::string text = R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"ok","f":"acquire","time":2,"id":"a"}
{"process":1,"type":"invoke","f":"release","time":3,"id":"b"}
{"process":1,"type":"ok","f":"release","time":4,"id":"b"}
)";
  EXPECT_EQ(linearizable(text, "mutex"), Outcome::violated);
  EXPECT_EQ(linearizable(text, "mutex-anonymous"), Outcome::holds) << "there anybody may release";
  EXPECT_EQ(checked(text, "mutual-exclusion"), Outcome::violated);
}

// Of a mutex without owners anybody's release may have freed it, whatever it names.
TEST(OracleFound, AMutexWithoutOwnersIsReleasedByAnybody) {
  EXPECT_EQ(linearizable(R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"ok","f":"acquire","time":2,"id":"a"}
{"process":2,"type":"invoke","f":"release","time":3,"id":"a"}
{"process":2,"type":"info","f":"release","time":4,"id":"a"}
{"process":3,"type":"invoke","f":"acquire","time":5}
{"process":3,"type":"ok","f":"acquire","time":6,"id":"b"}
)",
                         "mutex-anonymous"),
            Outcome::holds);
}

// `queue` is told by one event, `ok` or `info`: whoever came later is not granted sooner.
TEST(OracleFound, WhoIsToldThatHeWaitsByInfoWaits) {
  for (const std::string type : {"ok", "info"}) {
    const std::string text = R"({"process":1,"type":"invoke","f":"acquire","time":0}
{"process":2,"type":"invoke","f":"acquire","time":1}
{"process":2,"type":")" + type +
                             R"(","f":"queue","time":2}
{"process":3,"type":"invoke","f":"acquire","time":3}
{"process":3,"type":"ok","f":"acquire","time":4}
{"process":3,"type":"invoke","f":"release","time":5}
{"process":3,"type":"ok","f":"release","time":6}
{"process":2,"type":"ok","f":"acquire","time":7}
)";
    EXPECT_EQ(linearizable(text, "fair"), Outcome::violated) << type;
    EXPECT_EQ(checked(text, "fair-order"), Outcome::violated) << type;
  }
}

// An acquire that waited and failed made nothing that a release could name.
TEST(OracleFound, AnAcquireThatWaitedAndFailedMadeNothing) {
  EXPECT_EQ(linearizable(R"({"process":1,"type":"invoke","f":"acquire","time":0}
{"process":1,"type":"ok","f":"acquire","time":1,"id":"a"}
{"process":1,"type":"invoke","f":"acquire","time":2}
{"process":1,"type":"ok","f":"queue","time":3}
{"process":1,"type":"fail","f":"acquire","time":4}
{"process":1,"type":"invoke","f":"release","time":5,"id":"b"}
{"process":1,"type":"ok","f":"release","time":6,"id":"b"}
)",
                         "fair"),
            Outcome::violated);
}

// Nor does it begin a hold: a release after it gives back the one before, which the loss may not have ended.
TEST(OracleFound, AfterAnAcquireThatWaitedAndFailedTheHoldBeforeItIsReleased) {
  EXPECT_EQ(linearizable(R"({"process":1,"type":"invoke","f":"acquire","time":0}
{"process":1,"type":"ok","f":"acquire","time":1}
{"process":1,"type":"ok","f":"lost","time":2}
{"process":1,"type":"invoke","f":"acquire","time":3}
{"process":1,"type":"ok","f":"queue","time":4}
{"process":1,"type":"fail","f":"acquire","time":5}
{"process":1,"type":"invoke","f":"release","time":6}
{"process":1,"type":"ok","f":"release","time":7}
)",
                         "fair"),
            Outcome::holds);
}

// The acquire that waits may be granted before the release of its owner's other thread.
TEST(OracleFound, AnOwnerMayReleaseWhileItsOtherThreadWaits) {
  const std::string text = R"({"process":"1/0","owner":"1","type":"invoke","f":"acquire","time":0}
{"process":"1/1","owner":"1","type":"invoke","f":"release","time":1}
{"process":"1/0","owner":"1","type":"ok","f":"queue","time":2}
{"process":"1/0","owner":"1","type":"ok","f":"acquire","time":3}
{"process":"1/1","owner":"1","type":"fail","f":"release","error":"not-owner","time":4}
{"process":2,"type":"invoke","f":"acquire","time":5}
{"process":2,"type":"ok","f":"acquire","time":6}
)";
  for (const Engine engine : {Engine::automatic, Engine::search}) {
    EXPECT_EQ(linearizable(text, "fair", false, engine), Outcome::holds);
  }
}

TEST(OracleFound, AForeignIdGivesBackNothing) {
  const std::string text = R"({"process":1,"type":"invoke","f":"acquire","time":1}
{"process":1,"type":"ok","f":"acquire","time":2,"id":"a"}
{"process":1,"type":"invoke","f":"release","time":3,"id":"b"}
{"process":1,"type":"fail","f":"release","time":4,"id":"b"}
{"process":2,"type":"invoke","f":"acquire","time":5}
{"process":2,"type":"ok","f":"acquire","time":6,"id":"b"}
)";
  for (const Engine engine : {Engine::automatic, Engine::linear, Engine::search})
    EXPECT_EQ(linearizable(text, "mutex", false, engine), Outcome::violated) << to_string(engine);
  EXPECT_EQ(checked(text, "mutual-exclusion"), Outcome::violated);
}

}  // namespace
}  // namespace holdfast::checker
