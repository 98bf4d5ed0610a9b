// Text from outside, in every place where it is printed: a hostile history and a hostile scenario go through
// each reporter, and no byte outside what its place takes comes out.
#include "tools/holdfast/escape.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "checker/story/text_layout.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/reports.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

// A terminal's escapes, a title, a newline and a workflow command, invalid UTF-8, C1, text turned around, the
// end of a script, XML, Markdown and a shell.
const std::string kHostile =
    "a\x1b[2J\x1b]0;t\x07\n::error::evil\r\n  ::set-env name=X::y ##[error]z \xff\xc0\xaf\xed\xa0\x80 "
    "\xc2\x9b"
    "31m \xe2\x80\xae"
    "gpj.exe \xe2\x80\x8b</script><img src=x onerror=alert(1)>&\"'`$(id)|%0A%\x7f";

// Pieces of kHostile and plain ones, in any order.
std::string drawn(std::mt19937_64& rng) {
  std::string text;
  for (int parts = static_cast<int>(rng() % 6); parts >= 0; --parts) {
    const std::size_t at = rng() % kHostile.size();
    text += kHostile.substr(at, rng() % 30);
    if (rng() % 3 == 0) text += static_cast<char>(rng());
  }
  return text;
}

// What a terminal and the log of a CI job may be given: lines of printable UTF-8, none of them a command.
void expect_lines(const std::string& text, const std::string& of = "") {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(checker::printable(line), line) << of;
    EXPECT_FALSE(std::regex_search(line.substr(0, 300), std::regex("^\\s*::"))) << of << line.substr(0, 300);
    EXPECT_LT(line.size(), 6000u) << of << line.substr(0, 300);
  }
}

TEST(Escape, ATerminalGetsOneLine) {
  const Terminal terminal;
  std::mt19937_64 rng(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = i == 0 ? kHostile : drawn(rng);
    const std::string shown = for_terminal(text, terminal);
    EXPECT_EQ(shown.find('\n'), std::string::npos);
    expect_lines(shown);
    Terminal ascii;
    ascii.unicode = false;
    for (const char c : for_terminal(text, ascii)) ASSERT_TRUE(c >= 0x20 && c < 0x7f);
  }
  EXPECT_EQ(for_terminal("stock:42 app::lock \xc3\xa9", terminal), "stock:42 app::lock \xc3\xa9");
}

TEST(Escape, WhatIsLongLosesItsMiddle) {
  const std::string shown = for_terminal("begin " + std::string(1 << 20, 'x') + " end");
  EXPECT_LT(shown.size(), 1300u);
  EXPECT_TRUE(shown.starts_with("begin xxx")) << shown;
  EXPECT_TRUE(shown.ends_with("xxx end")) << shown;
  EXPECT_NE(shown.find("xx[... 1047386 bytes ...]xx"), std::string::npos) << shown;
  for (std::size_t most = 8; most < 40; ++most) {  // no character is cut in half
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\xe6\x9d\xb1";
    EXPECT_EQ(for_terminal(text, {}, most).find("\\x"), std::string::npos) << most;
  }
}

TEST(Escape, AnAnnotationIsOneLineAndEndsNoProperty) {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = i == 0 ? kHostile : drawn(rng);
    for (const std::string& shown : {for_annotation(text), for_annotation_property(text)}) {
      EXPECT_EQ(shown.find_first_of("\r\n"), std::string::npos);
      EXPECT_EQ(checker::printable(shown), shown);
      EXPECT_FALSE(std::regex_search(shown, std::regex("%(?!25|0A|3A|2C)")));  // each stands for something
    }
    EXPECT_EQ(for_annotation_property(text).find_first_of(":,"), std::string::npos);
  }
  EXPECT_EQ(for_annotation("100%\nb"), "100%25%0Ab");
  EXPECT_EQ(for_annotation_property("a:b,c\nd"), "a%3Ab%2Cc\\nd");
}

TEST(Escape, XmlHasNoMarkupAndNoCharacterThatXmlLacks) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = i == 0 ? kHostile : drawn(rng);
    for (const std::string& shown : {for_xml(text), for_xml_attribute(text)}) {
      EXPECT_EQ(shown.find_first_of("<>\"\r"), std::string::npos);
      EXPECT_FALSE(std::regex_search(shown, std::regex("&(?!(amp|lt|gt|quot);)")));
      expect_lines(std::regex_replace(shown, std::regex("(^|\n) *::"), "$1"));
    }
    EXPECT_EQ(for_xml_attribute(text).find('\n'), std::string::npos);
  }
}

TEST(Escape, AShellReadsTheWordAsItWas) {
  std::mt19937_64 rng(4);
  for (int i = 0; i < 60; ++i) {
    std::string text = i == 0 ? kHostile : drawn(rng);
    std::erase(text, '\0');
    text += 'x';
    const std::string word = for_shell(text);
    expect_lines(word);
    const TemporaryFolder folder;
    write_file(folder.path() + "/s", "printf %s " + word);
    EXPECT_EQ(run_shell("LC_ALL=C sh " + folder.path() + "/s").out, text) << word;
  }
}

TEST(Escape, AFileNameStaysInItsFolder) {
  EXPECT_EQ(for_file_name("storm-fair.2"), "storm-fair.2");
  EXPECT_EQ(for_file_name("../../etc/passwd"), "_._.._etc_passwd");
  EXPECT_EQ(for_file_name(""), "_");
  EXPECT_LE(for_file_name(std::string(1 << 20, 'x')).size(), 100u);
  EXPECT_EQ(for_file_name("a\n\x1b/b"), "a___b");
}

// --- each reporter

class Hostile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Two owners of one key, both hostile, as is everything that has a name.
  std::string history(const std::string& key) {
    const auto line = [&](int index, const char* process, const char* type) {
      nlohmann::ordered_json item = {
          {"index", index}, {"time", index * 1000}, {"process", process + key},   {"type", type},
          {"f", "acquire"}, {"key", key},           {"id", process + key + "-1"}, {"owner", process + key}};
      if (std::string(type) == "ok") item["valid_until"] = 900'000'000, item["node"] = "n" + key;
      return item.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    };
    const std::string file = path("h.jsonl");
    write_file(file,
               line(0, "p", "invoke") + line(1, "p", "ok") + line(2, "q", "invoke") + line(3, "q", "ok"));
    return file;
  }

  // Expects what does not happen; with a hostile name, `about` and id.
  std::string scenario(const std::string& name) {
    std::string text = read_text(kScenarios + "happy_path.toml");
    const nlohmann::json quoted = name;
    const std::string as_toml = quoted.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    text = std::regex_replace(text, std::regex("\nname *=[^\n]*\nabout *=[^\n]*"), "\nname = @\nabout = @");
    text = text.substr(0, text.find("[[expect]]")) +
           "[[expect]]\ncheck = \"lease-exclusion\"\nis = \"violated\"\n";
    for (std::size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, as_toml);
    const std::string file = path("s\n::error::x\x1b[31m.toml");
    write_file(file, text);
    return file;
  }
  TemporaryFolder folder_;
};

const std::string kLongKey = "k" + std::string(1 << 20, 'x') + kHostile;

TEST_F(Hostile, CheckPrintsLines) {
  for (const std::string& key : {kHostile, kLongKey}) {
    const std::string file = history(key);
    for (const std::string arguments : {"", " --json", " --model mutex", " --ascii"}) {
      const Ran ran = holdfast("check " + file + arguments, "COLUMNS=80");
      EXPECT_EQ(ran.exit, 1) << ran.err;
      if (arguments == " --json") {
        for (const char c : ran.out) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
      } else {
        expect_lines(ran.out, arguments);
      }
      expect_lines(ran.err, arguments);
    }
    const Ran two = holdfast("check " + file + " " + file);
    expect_lines(two.out);
    expect_lines(holdfast("show " + file).out);
  }
}

TEST_F(Hostile, AHistoryThatCannotBeReadIsALine) {
  write_file(path("bad"), kHostile);
  write_file(path("f.jsonl"),
             "{\"index\":0,\"time\":0,\"process\":\"p\",\"type\":\"ok\",\"f\":\"\\u001b[2J\\n::error::\"}\n");
  for (const std::string name : {"bad", "f.jsonl"}) {
    const Ran ran = holdfast("check " + path(name));
    EXPECT_NE(ran.exit, 0);
    expect_lines(ran.out);
    expect_lines(ran.err);
  }
}

TEST_F(Hostile, TheTimelineIsOneScript) {
  const std::string file = history(kHostile);
  EXPECT_EQ(holdfast("check " + file + " --timeline " + path("t.html")).exit, 1);
  const std::string page = read_text(path("t.html")), open = "<script";
  std::size_t scripts = 0, ends = 0;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) ++scripts;
  for (std::size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++ends;
  EXPECT_EQ(scripts, ends);
  EXPECT_EQ(page.find("onerror=alert(1)>"), page.find("onerror=alert(1)>", page.find("<script")));
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_NE(page.find("\\\\u{202e}gpj.exe"), std::string::npos);  // it is shown
}

TEST_F(Hostile, RunPrintsLinesAndReportsKeepTheirForm) {
  for (const std::string& name : {kHostile, "../../" + kHostile, "k" + std::string(1 << 20, 'x')}) {
    const std::string file = scenario(name);
    write_file(path("a"), "");
    const Ran ran = holdfast("run " + for_shell(file) + " --variant base --seed 1 --out " + path("out") +
                             " --json " + path("r.json") + " --junit " + path("j.xml"));
    EXPECT_EQ(ran.exit, 1) << ran.out.substr(0, 2000) << ran.err.substr(0, 2000);
    expect_lines(ran.out);
    expect_lines(ran.err);
    for (const char c : read_text(path("r.json"))) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
    EXPECT_EQ(run_shell("python3 " + holdfast::testing::source_path("tools/holdfast/junit_test.py ") +
                        path("j.xml"))
                  .exit,
              0);
    EXPECT_LT(read_text(path("j.xml")).size(), 20'000u);
    // It is kept below the folder that was named, and is told again.
    std::size_t kept = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("out")))
      kept += entry.path().filename() == "run.json";
    EXPECT_EQ(kept, 1u);
    const Ran show = holdfast("show " + path("out"));
    EXPECT_EQ(show.exit, 0);
    expect_lines(show.out);
    std::filesystem::remove_all(path("out"));

    const Ran github = holdfast("run " + for_shell(file) + " --variant base --seed 1 --github");
    std::size_t commands = 0;
    std::istringstream lines(github.out);
    for (std::string line; std::getline(lines, line);)
      commands += std::regex_search(line.substr(0, 99), std::regex("^\\s*::"));
    EXPECT_EQ(commands, 1u) << github.out.substr(0, 3000);
  }
}

TEST_F(Hostile, AFileThatIsRefusedIsALine) {
  write_file(path("x.toml"),
             "schema = 1\nname = \"\\u001b[2J\\n::error::x\"\n\"\\u001b[31m\\n::error::y\" = 1\n");
  write_file(path("y.toml"), "[ = " + kHostile);
  write_file(path("z.toml"),
             "schema = 1\nname = \"x\"\n[lock]\nkind = \"" + std::string(1 << 20, 'x') + "\"\n");
  for (const std::string name : {"x.toml", "y.toml", "z.toml", "no\n::error::such\x1b[2J.toml"}) {
    const Ran ran = holdfast("run " + for_shell(path(name)));
    EXPECT_EQ(ran.exit, 64);
    expect_lines(ran.err);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err.substr(0, 2000);
  }
  expect_lines(holdfast("list " + for_shell(kHostile)).err);
  expect_lines(holdfast(for_shell(kHostile)).err);
  expect_lines(holdfast("plot " + for_shell(path(kHostile.substr(0, 20)))).err);
}

}  // namespace
}  // namespace holdfast::tools
