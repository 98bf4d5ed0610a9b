// The command line as a newcomer meets it: help, man page, completion, version, and what is said of a slip of
// the finger. All of them are made from the same CLI::App, so each test walks it.
#include "tools/holdfast/command_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "tools/holdfast/command_page.h"
#include "tools/holdfast/completion.h"
#include "tools/holdfast/manual.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

struct Documented {
  std::string command, option;
};

// Every command and every name of every option, as CLI11 knows them.
std::vector<Documented> everything() {
  const CommandLine line;
  std::vector<Documented> all;
  for (const CLI::App* command : line.app.get_subcommands([](const CLI::App*) { return true; })) {
    all.push_back({command->get_name(), ""});
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) all.push_back({command->get_name(), "--" + name});
      for (const std::string& name : option->get_snames()) all.push_back({command->get_name(), "-" + name});
    }
  }
  return all;
}

CommandPage page() {
  const CommandLine line;
  return read_page(line.app);
}

TEST(CommandLine, KnowsWhatThisTestLooksFor) {
  const auto all = everything();
  const auto has = [&](const char* command, const char* option) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Documented& one) { return one.command == command && one.option == option; });
  };
  EXPECT_TRUE(has("run", "--keep"));
  EXPECT_TRUE(has("run", "-j"));
  EXPECT_TRUE(has("check", "--ascii"));
  EXPECT_TRUE(has("bench", "--no-peers"));
  EXPECT_TRUE(has("show", "--open"));
  EXPECT_GT(all.size(), 50u);
}

TEST(CommandLine, HelpHasEveryOption) {
  for (const Documented& one : everything()) {
    const Ran ran = holdfast("help " + one.command);
    ASSERT_EQ(ran.exit, 0) << one.command;
    EXPECT_TRUE(ran.says(one.option.empty() ? one.command : "  " + one.option) || ran.says(", " + one.option))
        << one.command << " " << one.option << "\n"
        << ran.out;
  }
  EXPECT_EQ(holdfast("help run").out, holdfast("run --help").out);
  EXPECT_EQ(holdfast("help").out, holdfast("--help").out);
}

TEST(CommandLine, HelpFitsTheTerminal) {
  for (const char* const width : {"60", "80", "120"}) {
    const Ran ran = holdfast("help run", "COLUMNS=" + std::string(width));
    std::istringstream lines(ran.out);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    EXPECT_LE(longest, std::stoul(width)) << ran.out;
    EXPECT_GT(longest, std::stoul(width) - 20) << ran.out;
  }
}

TEST(CommandLine, VersionIsOneLine) {
  const Ran ran = holdfast("--version");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, "holdfast " + version() + "\n");
}

TEST(CommandLine, ASlipOfTheFingerIsToldWhatWasMeant) {
  const struct {
    std::string arguments, complaint;
  } cases[] = {
      {"rnu", "unknown command `rnu`, expected `run`"},
      {"chekc h.edn", "did you mean `check`?"},
      {"run f.toml --sed 7", "unknown flag `--sed` of `holdfast run`, did you mean `--seed`?"},
      {"run --jnuit=x f.toml", "did you mean `--junit`?"},
      {"run", "FILE is required"},
      {"run f.toml --world reel",
       "unknown value `reel`, expected `embedded` or `real`, did you mean `real`?"},
      {"run f.toml --keep fialed --out d", "did you mean `failed`?"},
      {"check --modle mutex h.edn", "did you mean `--model`?"},
      {"check --model mutx h.edn", "did you mean `mutex`?"},
      {"run f.toml --color sometimes", "expected `auto`, `always` or `never`"},
      {"run f.toml --keep all", "expected --out DIR as well"},
      {"list lokcs", "did you mean `locks`?"},
      {"help chekc", "did you mean `check`?"},
      {"completion fish", "expected `bash` or `zsh`"},
      {"--verzion", "unknown flag `--verzion` of `holdfast`, did you mean `--version`?"},
      {"", "no command is given, expected `run`"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const Ran ran = holdfast(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(complaint), std::string::npos) << arguments << "\n" << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
  }
}

// roff -> what is meant, for the characters that the page escapes.
std::string unescaped(std::string roff) {
  for (std::size_t at = 0; (at = roff.find("\\-", at)) != std::string::npos; ++at) roff.replace(at, 2, "-");
  return roff;
}

TEST(ManPage, HasEveryCommandAndOption) {
  const std::string roff = unescaped(man_page(page(), "1.2.3"));
  EXPECT_TRUE(roff.starts_with(".TH HOLDFAST 1 "));
  EXPECT_NE(roff.find("holdfast 1.2.3"), std::string::npos);
  for (const auto& [command, option] : everything()) {
    const std::size_t section = roff.find(".SS \"holdfast " + command + "\"");
    ASSERT_NE(section, std::string::npos) << command;
    const std::size_t end = std::min(roff.find(".SS ", section + 1), roff.find(".SH ", section));
    const std::string text = roff.substr(section, end - section);
    if (option.empty()) continue;
    EXPECT_NE(text.find("\\fB" + option + "\\fR"), std::string::npos) << command << " " << option;
  }
  EXPECT_EQ(holdfast("man").out, man_page(page(), version()));
}

TEST(ManPage, IsGoodRoff) {
  if (run_shell("command -v groff").exit != 0) GTEST_SKIP() << "no groff on this machine";
  const Ran ran = run_shell(kTool + " man | groff -man -Tutf8 -P-cbou -ww -rLL=100n");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.err, "");  // -ww: every warning
  EXPECT_TRUE(ran.says("--check-determinism")) << ran.out;
}

// What bash offers for a line that is typed so far; the last word is being completed.
std::string completed(const std::vector<std::string>& words, const std::string& folder = ".") {
  std::string line = "cd " + folder + " && bash --norc --noprofile -c '. /dev/stdin; COMP_WORDS=(";
  for (const std::string& word : words) line += "\"" + word + "\" ";
  line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
          "; _holdfast 2>/dev/null; printf \"%s \" \"${COMPREPLY[@]}\"' <<'SCRIPT'\n" +
          bash_completion(page()) + "SCRIPT";
  return run_shell(line).out;
}

TEST(Completion, BashOffersWhatFits) {
  EXPECT_EQ(completed({"holdfast", "sch"}), "schema ");
  EXPECT_EQ(completed({"holdfast", "--ver"}), "--version ");
  EXPECT_EQ(completed({"holdfast", "run", "--check-d"}), "--check-determinism ");
  EXPECT_EQ(completed({"holdfast", "run", "--world", ""}), "embedded real ");
  EXPECT_EQ(completed({"holdfast", "run", "--keep", "v"}), "violated ");
  EXPECT_EQ(completed({"holdfast", "list", "m"}), "models marks ");
  EXPECT_EQ(completed({"holdfast", "completion", ""}), "bash zsh ");
  EXPECT_EQ(completed({"holdfast", "help", "sho"}), "show ");
  EXPECT_NE(completed({"holdfast", "check", "--model", ""}).find("leased-mutex"), std::string::npos);
  const TemporaryFolder folder;
  write_file(folder.path() + "/storm.toml", "");
  EXPECT_EQ(completed({"holdfast", "run", "st"}, folder.path()), "storm.toml ");
  EXPECT_EQ(completed({"holdfast", "run", "--out", "st"}, folder.path()), " ");  // folders only
}

TEST(Completion, BothScriptsHaveEveryCommandAndOption) {
  const std::string bash = bash_completion(page()), zsh = zsh_completion(page());
  EXPECT_EQ(holdfast("completion bash").out, bash);
  EXPECT_EQ(holdfast("completion zsh").out, zsh);
  for (const auto& [command, option] : everything()) {
    const std::size_t in_bash = bash.find("    " + command + ")\n"),
                      in_zsh = zsh.find("    " + command + ")\n");
    ASSERT_NE(in_bash, std::string::npos) << command;
    ASSERT_NE(in_zsh, std::string::npos) << command;
    if (option.empty()) continue;
    EXPECT_NE(bash.substr(in_bash, bash.find("\n      ;;\n", in_bash) - in_bash).find(option),
              std::string::npos)
        << option;
    EXPECT_NE(zsh.substr(in_zsh, zsh.find("\n      ;;\n", in_zsh) - in_zsh).find(option), std::string::npos)
        << option;
  }
}

TEST(Completion, TheShellsReadTheirScripts) {
  EXPECT_EQ(run_shell("bash -n <<'SCRIPT'\n" + bash_completion(page()) + "SCRIPT").exit, 0);
  if (run_shell("command -v zsh").exit != 0) GTEST_SKIP() << "no zsh on this machine";
  const Ran ran = run_shell("zsh -f -n /dev/stdin <<'SCRIPT'\n" + zsh_completion(page()) + "SCRIPT");
  EXPECT_EQ(ran.exit, 0) << ran.err;
}

}  // namespace
}  // namespace holdfast::tools
