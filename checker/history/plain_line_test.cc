// The quick reader of common lines agrees with the full parser on every line that it takes.
#include "checker/history/plain_line.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "checker/history/format_error.h"
#include "checker/history/history_jsonl.h"

namespace holdfast::checker {
namespace {

// The events of a text in the form in which they are written, or why it was refused.
std::string read(const std::string& text) {
  std::istringstream in(text);
  try {
    const ReadHistory read = read_jsonl(in, {.file = "h"});
    std::string out = read.header;
    for (std::size_t i = 0; i < read.history.events().size(); ++i)
      append_jsonl(read.history, i, read.index_of(i), out);
    return out;
  } catch (const FormatError&) {
    return "refused";
  }
}

TEST(PlainLine, TakesCommonLines) {
  History history;
  for (const std::string line :
       {R"({"index":0,"time":5,"process":3,"type":"invoke","f":"acquire"})",
        R"({"index": 0, "time": 5, "process": "c1/0", "type": "ok", "f": "read", "value": null})",
        R"({"type":"ok","f":"acquire","process":"p","valid_until":9,"token":7,"owner":"o","else":1})"}) {
    PlainLine plain;
    EXPECT_TRUE(read_plain_line(line, history, plain)) << line;
  }
}

// A blank before `}` is for the full parser alone, and changes no meaning.
TEST(PlainLine, AgreesWithTheFullParser) {
  const std::vector<std::string> names = {"index", "time",  "process", "type",        "f",       "key",
                                          "id",    "owner", "mode",    "node",        "error",   "value",
                                          "token", "else",  "permits", "valid_until", "el\\\"se"};
  const std::vector<std::string> values = {"0",
                                           "7",
                                           "007",
                                           "-3",
                                           "1.5",
                                           "5e3",
                                           "null",
                                           "\"\"",
                                           "\"a\"",
                                           R"("a\"b")",
                                           R"("é")",
                                           "\"0\"",
                                           "\"7\"",
                                           "\"eight888\"",
                                           "\"nine99999\"",
                                           "true",
                                           "[1]",
                                           "{}",
                                           "",
                                           "999999999999999999",
                                           "1000000000000000000",
                                           "1152921504606846976",
                                           "4611686018427387904",
                                           "99999999999999999999",
                                           "nul",
                                           "\"open",
                                           "\"ok\"",
                                           "\"info\"",
                                           "\"acquire\"",
                                           "\"unlock\"",
                                           "\"count-down\"",
                                           "\"due\""};
  std::mt19937_64 random(1);
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  History scratch;
  int taken = 0, refused = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::vector<std::pair<std::string, std::string>> fields = {
        {"process", "3"}, {"type", "\"invoke\""}, {"f", "\"acquire\""}, {"time", "5"}};
    const std::size_t changes = random() % 4;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = random() % (fields.size() + 1);
      if (random() % 4 == 0 && at < fields.size()) {
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), {one_of(names), one_of(values)});
      }
    }
    const bool blanks = random() % 2 == 0;
    std::string line = "{";
    for (const auto& [name, value] : fields) {
      if (line.size() > 1) line += blanks ? ", " : ",";
      line += '"' + name + (blanks ? "\": " : "\":") + value;
    }
    if (random() % 16 == 0 && line.size() > 1) line.erase(random() % line.size(), 1);
    PlainLine plain;
    taken += read_plain_line(line + "}", scratch, plain) ? 1 : 0;
    const std::string full = read(line + " }");
    refused += full == "refused" ? 1 : 0;
    ASSERT_EQ(read(line + "}"), full) << line << "}, round " << round;
  }
  EXPECT_GT(taken, 20'000);
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace holdfast::checker
