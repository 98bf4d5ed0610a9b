// The page of an exploration in a real browser: from the broken promise up to the usual run and down again,
// and the run at a moment in its second tab.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "checker/testing/browser.h"
#include "lib/testing/folders.h"
#include "sim/explore/explore.h"
#include "sim/explore/tree.h"
#include "sim/replay/record_run.h"
#include "sim/replay/write_tree.h"
#include "sim/scenario/parse_scenario.h"

namespace holdfast::sim {
namespace {

// What a script in the page has: T (window.tree), $ (an element by its id), key(name, more), texts(id): of
// the elements there.
constexpr std::string_view kTools = R"(<script>
  const T = window.tree, $ = id => document.getElementById(id);
  const key = (name, more = {}, target = document.body) =>
    target.dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true, bubbles: true, ...more }));
  const texts = id => [...$(id).children].map(one => one.innerText.replace(/\s+/g, ' '));
  const errors = []; addEventListener('error', e => errors.push(String(e.message)));
</script>)";

class TreeInBrowser : public ::testing::TestWithParam<std::string> {
 protected:
  // With the first run and the broken one recorded.
  static std::string page_of(const std::string& file, ExploreOptions options,
                             const TreeOptions& limits = {}) {
    const std::string path = testing::source_path("scenarios/explore/" + file + ".toml");
    Lineage lineage;
    options.ground = ground_of_file(path);
    options.lineage = &lineage;
    const ExploreState state = explore(options);
    const ExploreTree tree = tree_of(options, state, lineage, limits);
    TreePage page{.title = file,
                  .about = "",
                  .lock = "lock",
                  .reproduce = "holdfast explore x.toml --page x.html",
                  .bound = "at most 2 things go otherwise",
                  .complete_for = {"messages take 1ms or 100ms"},
                  .shown = {}};
    for (const ExploreTree::Run& run : tree.runs) {
      if (run.number != 1 && run.end != Lineage::End::broke) continue;
      const HuntCase one = explored_run(options, lineage, run.number);
      page.shown.emplace_back(
          run.number,
          record_run(parse_base(one.document, path), {.seed = one.seed, .changes = one.changes}).replay);
    }
    std::ostringstream text;
    write_tree_page(tree, state, page, text);
    return text.str();
  }
  nlohmann::json run(const std::string& page, const std::string& script,
                     const std::string& flags = "") const {
    return checker::testing::run_in_page(GetParam(), page, kTools, script, flags);
  }
};
INSTANTIATE_TEST_SUITE_P(Chromium, TreeInBrowser, ::testing::ValuesIn(checker::testing::browsers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TreeInBrowser);

bool says(const nlohmann::json& text, const std::string& what) {
  return std::string(text).find(what) != std::string::npos;
}

TEST_P(TreeInBrowser, IsWalkedByHandFromTheBrokenPromise) {
  const nlohmann::json seen = run(page_of("failover", {.ground = {}}), R"(
    const look = () => ({ ...T.state(), path: texts('path'), choices: texts('choices'), end: $('end').innerText, now: $('happens').textContent });
    const seen = { headline: $('headline').textContent, opened: look() };
    key('Backspace'); seen.up = look();
    key('ArrowUp'); key('ArrowUp'); key('ArrowDown'); key('ArrowDown'); key('Enter'); seen.down = look();
    key('v'); seen.broken = look();
    key('Home'); seen.home = look(); key('ArrowRight'); seen.next = look(); key('ArrowLeft'); key('End'); seen.end = look();
    key('Backspace'); key('Home'); key('ArrowRight', { shiftKey: true }); seen.leapt = look();
    const last = [...document.querySelectorAll('.event')].pop(); last.click(); seen.chosen = look();
    return seen;)");
  EXPECT_TRUE(says(seen["headline"], "one thing goes otherwise")) << seen["headline"];
  const nlohmann::json& opened = seen["opened"];
  ASSERT_EQ(opened["path"].size(), 2U);
  EXPECT_TRUE(says(opened["path"][1], "takes 100.0 ms in the place of: takes 1.0 ms")) << opened["path"];
  EXPECT_TRUE(says(opened["end"], "breaks lease-exclusion/double-grant")) << opened["end"];
  EXPECT_EQ(seen["up"]["run"], 1);
  EXPECT_EQ(seen["up"]["at"], opened["at"]) << "where the other departs";
  EXPECT_TRUE(says(seen["up"]["choices"][0], "usual so it goes here this run")) << seen["up"]["choices"];
  bool broken = false;
  for (const nlohmann::json& choice : seen["up"]["choices"])
    broken = broken || says(choice, "breaks lease-exclusion/double-grant");
  EXPECT_TRUE(broken) << seen["up"]["choices"];
  EXPECT_EQ(seen["down"]["run"], opened["run"]);
  EXPECT_EQ(seen["broken"]["at"], opened["at"]);
  EXPECT_EQ(seen["home"]["at"], 0);
  EXPECT_EQ(seen["next"]["at"], 1);
  EXPECT_GT(double(seen["end"]["at"]), double(opened["at"]));
  EXPECT_EQ(seen["leapt"]["run"], 1);
  EXPECT_GT(double(seen["chosen"]["at"]), double(seen["leapt"]["at"]));
}

TEST_P(TreeInBrowser, ShowsTheRunAtThatMoment) {
  const nlohmann::json seen = run(page_of("failover", {.ground = {}}), R"(
    const wait = ms => new Promise(done => setTimeout(done, ms));
    const there = async () => { for (let i = 0; i < 200 && !$('frame').contentWindow.replay; ++i) await wait(20); await wait(50);
      const inside = $('frame').contentWindow, text = id => inside.document.getElementById(id).innerText.replace(/\s+/g, ' ');
      return { shown: $('shown').innerText, step: inside.replay.state().step, theme: inside.replay.state().theme, servers: text('servers'),
        decisions: text('decisions'), hidden: $('tree').hidden } };
    const seen = {};
    key('2'); seen.broken = await there();
    key('Escape'); seen.back = $('run').hidden; key('End'); key('2'); seen.end = await there();
    key('1'); key('t'); T.goTo(2); key('2'); await wait(300); seen.other = await there();
    return seen;)");
  EXPECT_EQ(seen["broken"]["hidden"], true);
  EXPECT_TRUE(says(seen["broken"]["decisions"], "100.0 ms")) << "the decision comes next: " << seen["broken"];
  EXPECT_TRUE(says(seen["broken"]["servers"], "r1")) << seen["broken"];
  EXPECT_EQ(seen["back"], true);
  EXPECT_GT(double(seen["end"]["step"]), double(seen["broken"]["step"]));
  EXPECT_TRUE(says(seen["other"]["shown"], "Run 2 is not recorded")) << seen["other"];
  EXPECT_TRUE(says(seen["other"]["shown"], "--show 2")) << seen["other"];
  EXPECT_NE(seen["other"]["theme"], seen["broken"]["theme"]);
}

// Why an alternative is no run, and that a run ended where another had been.
TEST_P(TreeInBrowser, SaysWhyNothingDeparts) {
  const std::string script = R"(
    const all = new Set(), ends = new Set();
    for (const [number, , , , points] of T.data.runs.slice(0, 40)) {
      for (let at = 0; at < points; at += 3) { T.goTo(number, at); texts('choices').forEach(text => all.add(text)) }
      ends.add($('end').innerText);
    }
    return { all: [...all], ends: [...ends], cut: $('cut').textContent, verdict: $('verdict').textContent };)";
  const auto has = [](const nlohmann::json& texts, const std::string& what) {
    for (const nlohmann::json& text : texts) {
      if (says(text, what)) return true;
    }
    return false;
  };
  ExploreOptions options{.ground = {}, .deviations = 1, .twice = false};
  const nlohmann::json whole = run(page_of("fair", options), script);
  EXPECT_TRUE(says(whole["verdict"], "complete"));
  EXPECT_EQ(whole["cut"], "");
  EXPECT_TRUE(has(whole["all"], "it comes to the same, whichever of the two goes first"));
  EXPECT_TRUE(has(whole["all"], "beyond the bound"));
  EXPECT_TRUE(has(whole["ends"], "in a state in which run"));
  EXPECT_TRUE(has(whole["ends"], "goes to its end and keeps all promises"));
  const nlohmann::json part = run(page_of("fair", options, {.most_open = 3, .most_runs = 30}), script);
  EXPECT_TRUE(says(part["cut"], "30 of ")) << part["cut"];
  EXPECT_TRUE(has(part["all"], "run, and not on this page"));
  EXPECT_TRUE(has(part["ends"], "not on this page"));
}

// WCAG 2: everything can be reached and has a name, in both themes. On a phone nothing is wider than the
// screen. That the colours are read well is a test of the page of a replay, whose they are.
TEST_P(TreeInBrowser, CanBeReachedByEverybody) {
  const std::string page = page_of("failover", {.ground = {}}), script = R"(
    const seen = { theme: T.state().theme, unnamed: [] };
    for (const e of document.querySelectorAll('button, input, select, iframe, [tabindex]'))
      if (!(e.getAttribute('aria-label') || e.title || e.textContent.trim() || e.labels?.length)) seen.unnamed.push(e.outerHTML);
    key('?'); seen.help = $('help').hidden;
    key('t'); seen.other = T.state().theme;
    seen.selected = document.querySelectorAll('#choices [aria-selected="true"]').length;
    seen.tabs = document.querySelectorAll('[role="tab"][aria-selected="true"]').length;
    seen.wide = document.documentElement.scrollWidth - innerWidth;
    return seen;)";
  for (const bool dark : {false, true}) {
    const nlohmann::json seen =
        run(page, script, dark ? "--blink-settings=preferredColorScheme=0" : "--window-size=500,900");
    EXPECT_EQ(seen["theme"], dark ? "dark" : "light");
    EXPECT_EQ(seen["other"], dark ? "light" : "dark");
    EXPECT_EQ(seen["unnamed"].size(), 0U) << seen["unnamed"].dump(1);
    EXPECT_EQ(seen["help"], false);
    EXPECT_EQ(seen["selected"], 1);
    EXPECT_EQ(seen["tabs"], 1);
    EXPECT_LE(double(seen["wide"]), 0.0);
  }
}

}  // namespace
}  // namespace holdfast::sim
