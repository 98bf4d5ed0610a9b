// checker/HISTORY.md stays true: its examples go through the real reader, its tables name what the reader
// knows.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "checker/checks/check.h"
#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"
#include "lib/testing/folders.h"

namespace holdfast::checker {
namespace {

std::string page() {
  std::ostringstream text;
  text << std::ifstream(holdfast::testing::source_path("checker/HISTORY.md")).rdbuf();
  EXPECT_FALSE(text.str().empty());
  return text.str();
}

// The blocks of the page that begin with ```LANGUAGE.
std::vector<std::string> blocks(const std::string& language) {
  const std::string text = page(), begin = "```" + language + "\n";
  std::vector<std::string> found;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    found.push_back(text.substr(from, text.find("```", from) - from));
  }
  return found;
}

// The words in backticks of the first column of the table below a heading.
std::set<std::string> table(const std::string& heading) {
  const std::string text = page();
  const std::size_t from = text.find("## " + heading + "\n");
  EXPECT_NE(from, std::string::npos) << heading;
  std::istringstream lines(text.substr(from, text.find("\n## ", from) - from));
  std::set<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" | ") - 2);
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const std::size_t end = cell.find('`', at + 1);
      words.insert(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return words;
}

ReadHistory read(const std::string& text, Format expected, bool keyed = false) {
  std::istringstream in(text);
  Format used{};
  ReadHistory history = read_history(in, {.file = "HISTORY.md", .keyed = keyed, .used = &used});
  EXPECT_EQ(used, expected) << text;
  return history;
}

TEST(HistoryPage, TheExampleIsTheSameInBothFormats) {
  const std::vector<std::string> lines = blocks("jsonl"), edn = blocks("edn");
  ASSERT_GE(lines.size(), 2U);
  ASSERT_GE(edn.size(), 2U);
  const ReadHistory first = read(lines[0], Format::jsonl);
  EXPECT_EQ(to_jsonl(first.history), lines[0]) << "the example is written as the writer writes it";
  EXPECT_EQ(to_jsonl(read(edn[0], Format::jepsen_edn).history), lines[0]);
  // What the page tells of it.
  for (const char* check : {"lease-exclusion", "mutual-exclusion"}) {
    const Verdict verdict = find_check(check)->run(first.history, {});
    ASSERT_EQ(verdict.outcome, Outcome::violated);
    EXPECT_EQ(verdict.witnesses[0].kind, "double-grant");
  }
}

TEST(HistoryPage, TheOtherExamplesCanBeJudged) {
  const ReadHistory smallest = read(blocks("jsonl").at(1), Format::jsonl);
  EXPECT_EQ(smallest.history.events().size(), 4U);
  EXPECT_EQ(check_linearizable(smallest.history, {}).outcome, Outcome::holds);
  LinearizabilityOptions options{.model = "cas-register", .jepsen = true};
  const ReadHistory keyed = read(blocks("edn").at(1), Format::jepsen_edn, true);
  EXPECT_EQ(keyed.history.text(keyed.history.events().at(3).key), "x");
  EXPECT_EQ(check_linearizable(keyed.history, options).outcome, Outcome::holds);
  const ReadHistory log = read(blocks("log").at(0), Format::jepsen_log);
  EXPECT_EQ(log.history.events().size(), 4U);
  EXPECT_EQ(check_linearizable(log.history, options).outcome, Outcome::holds);
}

// An event with every field is written with exactly the fields of the table, and read again.
TEST(HistoryPage, NamesEveryField) {
  History history;
  Event event;
  event.time_ns = 1;
  event.valid_until_ns = 2;
  event.token = event.value = Value(2);
  event.permits = 3;
  for (Symbol* each :
       {&event.process, &event.key, &event.id, &event.owner, &event.mode, &event.node, &event.error}) {
    *each = history.intern("text");
  }
  event.f = Function::acquire;
  history.append(event);
  const std::string line = to_jsonl(history);
  std::set<std::string> written;
  const nlohmann::json parsed = nlohmann::json::parse(line);
  for (const auto& [name, value] : parsed.items()) written.insert(name);
  EXPECT_EQ(table("Fields"), written);
  EXPECT_EQ(to_jsonl(from_jsonl(line)), line);
}

TEST(HistoryPage, NamesEveryFunction) {
  std::set<std::string> known;
  for (int f = 0; f < static_cast<int>(Function::other); ++f)
    known.insert(std::string(to_string(static_cast<Function>(f))));
  EXPECT_EQ(table("Functions"), known);
}

TEST(HistoryPage, TheBrokenLineIsRefusedAsItSays) {
  const std::string text = page();
  try {
    std::istringstream in(
        "{\"process\":\"a\",\"type\":\"ok\",\"f\":\"acquire\"}\n{\"process\":\"a\",\"type\":\"okay\"}\n");
    read_history(in, {.file = "broken.jsonl"});
    ADD_FAILURE() << "read";
  } catch (const FormatError& error) {
    EXPECT_NE(text.find(std::string("\n") + error.what() + "\n"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace holdfast::checker
