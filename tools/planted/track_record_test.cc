// A track record is read back as it was written, and knows what it lacks.
#include "tools/planted/track_record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lib/testing/server/temporary_folder.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {
namespace {

using sim::Strategy;

TrackRecord some_record() {
  TrackRecord record;
  record.describe("planted-a", {.lock = "fair", .about = "wrong", .escapes = ""});
  record.add("planted-a", Strategy::all, 1, {.tried = 64, .found = {{"progress/stall", 9}}});
  record.add("planted-a", Strategy::all, 2, {.tried = 512, .found = {}});
  record.add("planted-a", Strategy::no_swarm, 1, {.tried = 1'024, .found = {{"lease-exclusion", 1'000}}});
  record.add("planted-a", {.promise = "progress/stall",
                           .about = "somebody waits",
                           .before = {.faults = 8, .clients = 5, .tasks = 10, .operations = 40},
                           .after = {.faults = 1, .clients = 2, .tasks = 2, .operations = 2},
                           .runs = 321,
                           .seeds = 20,
                           .controlled = true,
                           .ours = "fair",
                           .of_ours = {.holds = 20},
                           .real = Tally{.violated = 3},
                           .scenario = "name = \"a\"\n"});
  return record;
}

TEST(TrackRecord, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/record.json";
  EXPECT_TRUE(TrackRecord::read(path).hunts().empty()) << "not there yet";
  const std::string text = some_record().text();
  std::ofstream(path) << text;
  TrackRecord again = TrackRecord::read(path);
  EXPECT_EQ(again.text(), text);
  EXPECT_EQ(again.small().at("planted-a").real->violated, 3u);
  again.keep({"planted-b"});
  EXPECT_TRUE(again.hunts().empty() && again.small().empty());
}

TEST(TrackRecord, KnowsWhichHuntsAreThere) {
  const TrackRecord record = some_record();
  EXPECT_TRUE(record.has("planted-a", Strategy::all, 1, 1'024, {})) << "it found something";
  EXPECT_TRUE(record.has("planted-a", Strategy::all, 1, 1'024, {"progress"}));
  EXPECT_FALSE(record.has("planted-a", Strategy::all, 1, 1'024, {"progress", "lease-exclusion"}));
  EXPECT_TRUE(record.has("planted-a", Strategy::all, 2, 512, {}));
  EXPECT_FALSE(record.has("planted-a", Strategy::all, 2, 1'024, {})) << "it may be longer";
  EXPECT_FALSE(record.has("planted-a", Strategy::all, 3, 64, {}));
  EXPECT_FALSE(record.has("planted-a", Strategy::no_feedback, 1, 64, {}));
}

TEST(TrackRecord, WhatIsNoRecordIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/record.json";
  for (const char* const text :
       {"{}", "[1]", "{\"kind\": \"track-record\", \"schema\": 2}",
        "{\"kind\": \"track-record\", \"schema\": 1, \"subjects\": []}",
        "{\"kind\": \"track-record\", \"schema\": 1, \"subjects\": [], \"small\": [], \"hunts\": "
        "[{\"subject\": "
        "\"a\", \"strategy\": \"all\", \"by_seed\": {\"1\": {\"tried\": 4, \"found\": {\"p\": 5}}}}]}"}) {
    std::ofstream(path) << text;
    EXPECT_THROW(TrackRecord::read(path), BadUsage) << text;
  }
}

}  // namespace
}  // namespace holdfast::tools
