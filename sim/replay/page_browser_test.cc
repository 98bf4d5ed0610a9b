// The page of a replay in a real browser: the failover double grant, walked through.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "checker/testing/browser.h"
#include "lib/testing/folders.h"
#include "sim/replay/record_run.h"
#include "sim/replay/write_page.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

// What a script in the page has: R (window.replay), $ (an element by its id), key(name, more), cards(id): the
// texts of the cards there.
constexpr std::string_view kTools = R"(<script>
  const R = window.replay, $ = id => document.getElementById(id);
  const key = (name, more = {}, target = document.body) =>
    target.dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true, bubbles: true, ...more }));
  const cards = id => [...$(id).children].map(card => card.innerText.replace(/\s+/g, ' '));
  const errors = []; addEventListener('error', e => errors.push(String(e.message)));
</script>)";

class ReplayInBrowser : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string page_of(const std::string& file, const std::string& variant = "") {
    const Scenario scenario = read_scenario(testing::source_path("scenarios/" + file + ".toml"), variant, {});
    std::ostringstream page;
    write_page(record_run(scenario, {.seed = 7}).replay, "holdfast replay x.toml", page);
    return page.str();
  }
  nlohmann::json run(const std::string& page, const std::string& script,
                     const std::string& flags = "") const {
    return checker::testing::run_in_page(GetParam(), page, kTools, script, flags);
  }
};
INSTANTIATE_TEST_SUITE_P(Chromium, ReplayInBrowser, ::testing::ValuesIn(checker::testing::browsers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReplayInBrowser);

bool says(const nlohmann::json& text, const std::string& what) {
  return std::string(text).find(what) != std::string::npos;
}

TEST_P(ReplayInBrowser, OpensWhereTheSecondOwnerAppears) {
  const nlohmann::json seen = run(page_of("primary_failover_double_grant"), R"(
    const look = () => ({ state: R.state(), clients: cards('clients'), servers: cards('servers'), now: $('happens').textContent,
      alarm: $('alarm').textContent, decisions: cards('decisions'), messages: cards('messages') });
    const seen = { opened: look(), headline: $('headline').textContent };
    key('ArrowLeft', { shiftKey: true }); seen.before = look();
    key('n'); key('p'); seen.back = look();
    key('Home'); seen.home = look();
    for (let i = 0; i < 400 && !$('messages').innerText.includes('held back'); ++i) key('ArrowRight');
    seen.held = look();
    return seen;)");
  const nlohmann::json& opened = seen["opened"];
  EXPECT_TRUE(says(seen["headline"], "Double grant: stock:42 has 2 owners: ")) << seen["headline"];
  EXPECT_TRUE(says(opened["alarm"], "double grant")) << opened["alarm"];
  EXPECT_TRUE(says(opened["now"], "is granted stock:42 by r2")) << opened["now"];
  int owners = 0;
  for (const nlohmann::json& card : opened["clients"])
    owners += says(card, "of 2") && says(card, "holds stock:42");
  EXPECT_EQ(owners, 2) << opened["clients"];
  // Both servers' records beside each other.
  ASSERT_EQ(opened["servers"].size(), 2U);
  EXPECT_TRUE(says(opened["servers"][0], "r1 down as it was when it went down: stock:42 string"))
      << opened["servers"];
  EXPECT_TRUE(says(opened["servers"][1], "r2 primary stock:42 string 5.00 s left")) << opened["servers"];
  EXPECT_GE(opened["decisions"].size(), 1U);
  EXPECT_EQ(seen["before"]["alarm"], "");
  EXPECT_LT(double(seen["before"]["state"]["time"]), double(opened["state"]["time"]));
  EXPECT_EQ(seen["back"]["state"]["step"], opened["state"]["step"]);
  EXPECT_EQ(seen["home"]["now"], "Before the first event");
  EXPECT_TRUE(says(seen["home"]["servers"][0], "r1 primary")) << seen["home"]["servers"];
  EXPECT_TRUE(says(seen["home"]["servers"][1], "r2 replica"));
  bool replicated = false;
  for (const nlohmann::json& row : seen["held"]["messages"])
    replicated = replicated || (says(row, "r1") && says(row, "r2") && says(row, "replication"));
  EXPECT_TRUE(replicated) << seen["held"]["messages"];
}

TEST_P(ReplayInBrowser, MovesByKeysSliderPlayAndPointer) {
  const nlohmann::json seen = run(page_of("primary_failover_double_grant"), R"(
    const wait = ms => new Promise(done => setTimeout(done, ms));
    const seen = {};
    key('Home'); key('ArrowRight'); key('ArrowRight'); seen.two = $('slider').value;
    key('ArrowLeft'); seen.one = $('slider').value;
    $('slider').value = 50; $('slider').dispatchEvent(new Event('input')); seen.fifty = R.state();
    key('d'); seen.decisions = R.state().stops; key('d'); seen.without = R.state().stops;
    $('speed').value = '60'; key(' '); await wait(700); seen.playing = R.state(); key(' '); seen.stopped = R.state();
    key('End'); seen.end = R.state(); key('ArrowRight'); seen.still = R.state();
    key('0'); const box = $('strip').getBoundingClientRect();
    const at = x => new PointerEvent('pointerdown', { clientX: box.left + x, clientY: box.top + 40, pointerId: 1, bubbles: true });
    $('strip').dispatchEvent(at(box.width / 2)); seen.middle = R.state();
    document.querySelector('#events .event').click(); seen.chosen = R.state();
    const x = R.state(); key('+'); seen.closer = R.state();
    return seen;)");
  EXPECT_EQ(seen["two"], "2");
  EXPECT_EQ(seen["one"], "1");
  EXPECT_GT(double(seen["decisions"]), double(seen["without"]));
  EXPECT_EQ(seen["playing"]["playing"], true);
  EXPECT_GT(double(seen["playing"]["step"]), double(seen["fifty"]["step"]));
  EXPECT_EQ(seen["stopped"]["playing"], false);
  EXPECT_EQ(seen["still"]["step"], seen["end"]["step"]);
  EXPECT_LT(double(seen["middle"]["time"]), double(seen["end"]["time"]));
  EXPECT_GT(double(seen["middle"]["time"]), 0.0);
  EXPECT_NE(seen["chosen"]["step"], seen["middle"]["step"]);
  const auto width = [](const nlohmann::json& state) { return double(state["x1"]) - double(state["x0"]); };
  EXPECT_LT(width(seen["closer"]), width(seen["middle"]));
}

// What stands at a step does not depend on how one came to it.
TEST_P(ReplayInBrowser, AStepIsTheSameFromBothSides) {
  const nlohmann::json seen = run(page_of("storm"), R"(
    const text = () => JSON.stringify(R.standing(), (k, v) => v instanceof Map ? [...v] : v instanceof Set ? [...v] : v);
    const steps = R.data.steps.length, forth = [], back = [];
    for (let i = 0; i < steps; i += 97) { R.goTo(i); forth.push(text()) }
    for (let i = Math.floor((steps - 1) / 97) * 97; i >= 0; i -= 97) { R.goTo(i); back.unshift(text()) }
    return { looked: forth.length, differ: forth.filter((one, i) => one !== back[i]).length };)");
  EXPECT_GT(seen["looked"], 20);
  EXPECT_EQ(seen["differ"], 0);
}

// WCAG 2: text has a contrast of at least 4.5, in both themes; everything can be reached and has a name.
// On a phone nothing is wider than the screen.
TEST_P(ReplayInBrowser, CanBeReadAndReachedByEverybody) {
  const std::string page = page_of("primary_failover_double_grant"), script = R"(
    const seen = { theme: R.state().theme, low: [], unnamed: [] };
    const style = getComputedStyle(document.documentElement);
    const light = name => { const hex = style.getPropertyValue('--' + name).trim().slice(1);
      const [r, g, b] = [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
      return .2126 * r + .7152 * g + .0722 * b };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05) };
    for (const [ink, ground] of [['ink', 'bg'], ['ink', 'panel'], ['ink', 'select'], ['ink', 'fresh'], ['dim', 'bg'], ['dim', 'panel'],
      ['dim', 'badbg'], ['bad', 'bg'], ['bad', 'badbg'], ['ok', 'okbg'], ['a', 'select'], ['faultink', 'bg'], ['faultink', 'faultbg'],
      ['k0', 'bg'], ['k1', 'bg'], ['k2', 'bg'], ['k3', 'bg'], ['k4', 'bg'], ['k5', 'bg'], ['k0', 'fresh'], ['k2', 'fresh'], ['k5', 'fresh']])
      if (contrast(ink, ground) < 4.5) seen.low.push([ink, ground, contrast(ink, ground)]);
    for (const e of document.querySelectorAll('button, input, select, [tabindex]'))
      if (!(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)) seen.unnamed.push(e.outerHTML);
    key('?'); seen.help = $('help').hidden;
    key('t'); seen.other = R.state().theme;
    seen.wide = document.documentElement.scrollWidth - innerWidth;
    return seen;)";
  for (const bool dark : {false, true}) {
    const nlohmann::json seen =
        run(page, script, dark ? "--blink-settings=preferredColorScheme=0" : "--window-size=500,900");
    EXPECT_EQ(seen["theme"], dark ? "dark" : "light");
    EXPECT_EQ(seen["other"], dark ? "light" : "dark");
    EXPECT_EQ(seen["low"].size(), 0U) << seen["low"].dump(1);
    EXPECT_EQ(seen["unnamed"].size(), 0U) << seen["unnamed"].dump(1);
    EXPECT_EQ(seen["help"], false);
    EXPECT_LE(double(seen["wide"]), 0.0);
  }
}

}  // namespace
}  // namespace holdfast::sim
