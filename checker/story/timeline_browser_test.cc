// The timeline in a real browser: scripts look, click, type, touch and press keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "checker/linearizability/linearizability.h"
#include "checker/story/timeline.h"
#include "checker/testing/browser.h"
#include "checker/testing/draw_history.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

// What a script in the page has: T (window.timeline), $ (an element by its id), key(name, target), press(id)
// for a click, pointer(type, x, y, more), type(text) into the search, frame() to draw now,
// hover(lane, microseconds) -> the text of the tip, texts() -> what a frame writes on the canvas, with its
// boxes, colour(lane, microseconds) -> [red, green, blue] in the middle of a lane.
constexpr std::string_view kTools = R"(<script>
  const T = window.timeline, $ = id => document.getElementById(id), canvas = $('canvas');
  const frame = async () => T.draw();  // headless has no frames
  const key = (name, target = document.body) =>
    target.dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true, bubbles: true }));
  const press = id => $(id).click();
  const type = text => { $('search').value = text; $('search').dispatchEvent(new Event('input')) };
  const pointer = (name, x, y, more = {}) => canvas.dispatchEvent(new PointerEvent(name,
    { clientX: x, clientY: y, pointerId: 1, bubbles: true, cancelable: true, ...more }));
  const hover = (lane, t) => { pointer('pointermove', ...T.point(lane, t));
    return $('tip').style.display === 'block' ? $('tip').textContent : null };
  const texts = () => {
    const seen = [], proto = CanvasRenderingContext2D.prototype, real = proto.fillText;
    proto.fillText = function (text, x, y) {
      if (this.canvas === canvas && text) {
        const wide = this.measureText(text).width, size = parseFloat(this.font.match(/([\d.]+)px/)[1]);
        const left = this.textAlign === 'center' ? x - wide / 2 : x;
        seen.push({ text, left, right: left + wide, top: y - size / 2, bottom: y + size / 2 });
      }
      return real.call(this, text, x, y);
    };
    T.draw();
    proto.fillText = real;
    return seen;
  };
  const colour = (lane, t) => { const [x, y] = T.point(lane, t), box = canvas.getBoundingClientRect();
    return [...canvas.getContext('2d').getImageData(x - box.left, y - box.top, 1, 1).data].slice(0, 3) };
  const errors = []; addEventListener('error', e => errors.push(String(e.message)));
</script>)";

class TimelineInBrowser : public ::testing::TestWithParam<std::string> {
 protected:
  nlohmann::json run(const std::string& page, const std::string& script,
                     const std::string& flags = "") const {
    return testing::run_in_page(GetParam(), page, kTools, script, flags);
  }
};
INSTANTIATE_TEST_SUITE_P(Chromium, TimelineInBrowser, ::testing::ValuesIn(testing::browsers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TimelineInBrowser);

std::string page_of(const History& history, const std::vector<NamedVerdict>& verdicts,
                    const std::string& title) {
  std::ostringstream page;
  write_timeline(history, verdicts, {.title = title}, page);
  return page.str();
}
std::string judged_page(const History& history, const std::vector<std::string>& checks,
                        const std::string& title) {
  std::vector<NamedVerdict> verdicts;
  for (const std::string& check : checks) verdicts.push_back({check, find_check(check)->run(history, {})});
  return page_of(history, verdicts, title);
}

History two_owners() {
  return testing::history_of(R"(
    0    nemesis info fault lag value=1 error=replication-lag
    1    c0/0 invoke acquire other owner=c0:0
    2    c0/0 ok acquire other owner=c0:0 id=c0-1
    10   c1/0 invoke acquire k owner=c1:0
    20   c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=500 token=7
    30   c2/0 invoke acquire k owner=c2:0
    40   c2/0 ok acquire k owner=c2:0 id=c2-1 node=r2 valid=500 token=8
    60   c1/0 invoke release k owner=c1:0 id=c1-1
    61   c1/0 ok release k owner=c1:0 id=c1-1
    70   nemesis info fault lag value=0 error=replication-lag
    80   c2/0 invoke release k owner=c2:0 id=c2-1
    400  c2/0 ok release k owner=c2:0 id=c2-1
  )");
}

// `clients` ask in turn for `keys` locks of one server; every 97th grant comes before the release of the one
// before. Faults of ten kinds act all the time.
History storm(int clients, int rounds, int keys) {
  History history;
  const auto made = [&](std::int64_t us, const std::string& process, EventType type, Function f, int key,
                        const std::string& id) {
    Event event;
    event.time_ns = us * 1000;
    event.process = history.intern(process);
    event.type = type;
    event.f = f;
    event.key = history.intern("stock:" + std::to_string(key));
    event.id = history.intern(id);
    if (f == Function::acquire || f == Function::release) event.owner = event.process;
    return event;
  };
  struct Timed {
    std::int64_t us;
    Event event;
  };
  std::vector<Timed> all;
  const auto put = [&](const Event& event) { all.push_back({event.time_ns, event}); };
  int grants = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int client = 0; client < clients; ++client) {
      const int key = client % keys;
      const std::int64_t turn = (std::int64_t{round} * clients + client) / keys;
      const std::int64_t at = 1000 + turn * 400 + key, end = at + (++grants % 97 == 0 ? 500 : 300);
      const std::string name = "c" + std::to_string(client + 1), process = name + "/0",
                        id = name + "-" + std::to_string(round + 1);
      put(made(at - 600 > 0 ? at - 600 : 0, process, EventType::invoke, Function::acquire, key, ""));
      for (const EventType type : {EventType::invoke, EventType::ok}) {
        Event event = made(at - (type == EventType::invoke ? 90 : 40), "ledger/" + std::to_string(key), type,
                           Function::store_grant, key, id);
        event.node = history.intern("r1");
        event.value = Value(1);
        put(event);
      }
      Event granted = made(at, process, EventType::ok, Function::acquire, key, id);
      granted.node = history.intern("r1");
      granted.valid_until_ns = granted.time_ns + 5'000'000;
      put(granted);
      put(made(end, process, EventType::invoke, Function::release, key, id));
      put(made(end + 20, process, EventType::ok, Function::release, key, id));
    }
  }
  const std::int64_t last = all.back().us / 1000;
  for (int fault = 0; fault < 14; ++fault) {
    for (int act = 0; act < 40; ++act) {
      for (const int value : {1, 0}) {
        Event event;
        event.time_ns = (last * (act * 14 + fault) / 560 + (value == 0 ? last / 300 : 0)) * 1000;
        event.process = history.intern("nemesis");
        event.type = EventType::info;
        event.f = Function::fault;
        event.key = history.intern("fault-with-a-long-name-" + std::to_string(fault));
        event.error = history.intern("a-kind-of-fault-" + std::to_string(fault % 10));
        event.value = Value(value);
        put(event);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) { return a.us < b.us; });
  for (const Timed& each : all) history.append(each.event);
  return history;
}

TEST_P(TimelineInBrowser, OpensAtTheViolationAndMoves) {
  const nlohmann::json seen = run(judged_page(two_owners(), {"lease-exclusion"}, "two owners"), R"(
    const seen = { start: T.state(), verdict: $('verdict').textContent, headline: $('headline').textContent,
      why: $('why').textContent, title: document.title };
    seen.owner = hover(1, 25000); seen.clash = hover(2, 50000); seen.nothing = hover(1, 66000);
    key('0'); await frame(); seen.all = T.state();
    key('+'); await frame(); seen.closer = T.state();
    key('ArrowRight'); await frame(); seen.right = T.state();
    key('-'); key('n'); await frame(); seen.again = T.state();
    press('fit'); await frame(); seen.fitted = T.state();
    press('in'); press('previous'); key('v'); await frame(); seen.back = T.state();
    return seen;)");
  EXPECT_EQ(seen["start"]["at"], 0);
  EXPECT_EQ(seen["start"]["pinned"], (nlohmann::json{"c1/0", "c2/0"}));
  EXPECT_LT(seen["start"]["x0"], 20000);
  EXPECT_GT(seen["start"]["x1"], 60000);
  EXPECT_LT(seen["start"]["x1"], 200000);
  EXPECT_EQ(seen["verdict"], "✖ violated");
  EXPECT_EQ(seen["headline"], "Double grant: k had two owners for 20.0 ms");
  EXPECT_NE(std::string(seen["why"]).find("was granted to c2:0"), std::string::npos);
  EXPECT_EQ(seen["title"], "two owners");
  EXPECT_NE(std::string(seen["owner"]).find("token 7"), std::string::npos) << seen["owner"];
  EXPECT_NE(std::string(seen["clash"]).find("✖"), std::string::npos) << seen["clash"];
  EXPECT_TRUE(seen["nothing"].is_null());
  EXPECT_EQ(seen["all"]["x0"], 0);
  EXPECT_GT(seen["all"]["x1"], 399000);
  const auto width = [](const nlohmann::json& state) { return double(state["x1"]) - double(state["x0"]); };
  EXPECT_LT(width(seen["closer"]), width(seen["all"]));
  EXPECT_GT(seen["right"]["x0"], seen["closer"]["x0"]);
  EXPECT_EQ(seen["again"]["x0"], seen["start"]["x0"]);
  EXPECT_EQ(seen["fitted"]["x1"], seen["all"]["x1"]);
  EXPECT_EQ(seen["back"]["x0"], seen["start"]["x0"]);
}

TEST_P(TimelineInBrowser, ListAndPictureAreLinked) {
  const nlohmann::json seen = run(judged_page(two_owners(), {"lease-exclusion"}, "linked"), R"(
    const seen = { }, text = () => document.querySelector('.event.selected .text')?.textContent;
    seen.opened = text();                                  // the grant that made the second owner
    pointer('pointerdown', ...T.point(1, 25000)); pointer('pointerup', ...T.point(1, 25000)); await frame();
    seen.clicked = text(); seen.detail = $('detail').textContent;
    key('End', $('list')); await frame();                  // the last event is out of sight: the picture follows
    seen.last = text(); seen.state = T.state();
    key('ArrowUp', $('list')); seen.before = text(); seen.active = $('list').getAttribute('aria-activedescendant');
    key('0'); key('v'); document.querySelector('[data-scope=view]').click(); await frame();
    seen.inView = T.state().listed;
    document.querySelector('[data-scope=violation]').click(); seen.ofViolation = T.state().listed;
    return seen;)");
  EXPECT_EQ(seen["opened"], "is granted k by r2 as c2-1, token 8, valid until 500.000 ms");
  EXPECT_EQ(seen["clicked"], "is granted k by r1 as c1-1, token 7, valid until 500.000 ms");
  EXPECT_NE(std::string(seen["detail"]).find("held 20.000 ms to 60.000 ms"), std::string::npos)
      << seen["detail"];
  EXPECT_EQ(seen["last"], "has released k");
  EXPECT_LE(seen["state"]["x0"], 400000);
  EXPECT_GE(seen["state"]["x1"], 400000);
  EXPECT_EQ(seen["before"], "releases k");
  EXPECT_EQ(seen["active"], "event-10");
  EXPECT_EQ(seen["inView"], 5);  // from 20 ms to 61 ms
  EXPECT_LT(seen["ofViolation"], 12);
  EXPECT_GE(seen["ofViolation"], 4);
}

TEST_P(TimelineInBrowser, ThousandClients) {
  const History history = storm(1000, 8, 25);
  const std::string page = judged_page(history, {"lease-exclusion"}, "a thousand clients");
  EXPECT_LT(page.size(), history.events().size() * 120 + 80'000);  // bytes
  const nlohmann::json seen = run(page, R"(
    const seen = { events: T.data.events.time.length, rows: () => $('rows').childElementCount };
    seen.start = T.state(); seen.rows = $('rows').childElementCount;
    key('0'); document.querySelector('[data-lanes=all]').click(); await frame(); seen.all = T.state();
    key('['); key('['); await frame(); seen.low = T.state();
    type('c77'); await frame(); seen.found = $('found').textContent; seen.listed = T.state().listed;
    document.querySelector('[data-lanes=matches]').click(); await frame(); seen.matches = T.state();
    type('process:c77/0 is:release'); await frame(); seen.exact = T.state();
    key('Enter', $('search')); seen.first = T.state().selected;
    key('Enter', $('search')); seen.second = T.state().selected;
    type('no such thing'); seen.none = $('found').textContent;
    type(''); await frame(); seen.cleared = T.state();
    document.querySelector('[data-lanes=conflict]').click(); await frame(); seen.conflict = T.state();
    document.querySelector('[data-lanes=all]').click();
    $('key').value = 'stock:3'; $('key').dispatchEvent(new Event('change')); await frame(); seen.ofKey = T.state();
    return seen;)");
  EXPECT_GT(seen["events"], 48'000);
  // The owners and the server stay on top, however many clients there are.
  ASSERT_EQ(seen["start"]["pinned"].size(), 3U) << seen["start"];
  EXPECT_EQ(seen["start"]["pinned"][2], "r1");
  EXPECT_LT(seen["start"]["others"], 300);  // those with something to show
  EXPECT_EQ(seen["all"]["others"], 998);
  // Work goes with what is on the screen, not with the length of the history.
  EXPECT_LT(seen["rows"], 60);
  EXPECT_LT(seen["start"]["drawn"], 3'000);
  EXPECT_LT(seen["all"]["drawn"], 12'000);
  EXPECT_LT(seen["low"]["drawn"], 25'000);
  EXPECT_LT(seen["low"]["rowHeight"], seen["all"]["rowHeight"]);
  // c77, c770 to c779: eleven clients, eight rounds of six events.
  EXPECT_EQ(seen["found"], "528 found in 12 lanes");  // with the server, which names their acquisitions
  EXPECT_EQ(seen["listed"], 528);
  EXPECT_EQ(seen["matches"]["others"], 11);
  EXPECT_EQ(seen["exact"]["listed"], 16);
  EXPECT_NE(seen["first"], seen["second"]);
  EXPECT_EQ(seen["none"], "nothing found");
  EXPECT_EQ(seen["cleared"]["others"], 998);
  EXPECT_EQ(seen["conflict"]["others"], 0);
  EXPECT_LE(seen["ofKey"]["others"], 40);
  EXPECT_GE(seen["ofKey"]["others"], 38);
}

TEST_P(TimelineInBrowser, NoTextLiesOnAnotherInAStorm) {
  const nlohmann::json seen =
      run(judged_page(storm(12, 80, 2), {"lease-exclusion", "mutual-exclusion"}, "storm"), R"(
    const seen = { overlaps: [], counted: 0, violations: T.data.violations.length };
    const look = name => {
      const all = texts(); seen.counted += all.length;
      for (let i = 0; i < all.length; ++i) for (let k = 0; k < i; ++k) { const a = all[i], b = all[k];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
          seen.overlaps.push([name, a.text, b.text]) }
    };
    look('opened'); key('0'); look('all');
    for (let i = 0; i < 14; ++i) { key('+'); look('zoom ' + i) }
    for (let i = 0; i < 4; ++i) { key('['); look('rows ' + i) }
    key('n'); look('next'); key('0'); look('low');
    return seen;)");
  EXPECT_GT(seen["violations"], 5);
  EXPECT_GT(seen["counted"], 300);
  EXPECT_EQ(seen["overlaps"].size(), 0U) << seen["overlaps"].dump(1).substr(0, 2000);
}

TEST_P(TimelineInBrowser, Touch) {
  const nlohmann::json seen = run(judged_page(storm(60, 20, 2), {"lease-exclusion"}, "touched"), R"(
    const seen = { action: getComputedStyle(canvas).touchAction }, finger = n => ({ pointerId: n, pointerType: 'touch' });
    const box = canvas.getBoundingClientRect(), x = box.left + box.width * .6, y = box.bottom - 60;
    document.querySelector('[data-lanes=all]').click(); await frame(); seen.start = T.state();
    pointer('pointerdown', x, y, finger(1)); pointer('pointermove', x - 90, y - 70, finger(1));
    pointer('pointerup', x - 90, y - 70, finger(1)); await frame(); seen.panned = T.state();
    pointer('pointerdown', x - 40, y, finger(1)); pointer('pointerdown', x + 40, y, finger(2));
    pointer('pointermove', x + 120, y, finger(2)); await frame(); seen.pinched = T.state();
    pointer('pointerup', x + 120, y, finger(2)); pointer('pointerup', x - 40, y, finger(1));
    key('v'); await frame();
    const at = T.point(T.data.violations[0].lanes[0], T.data.violations[0].from);
    pointer('pointerdown', ...at, finger(3)); pointer('pointerup', ...at, finger(3));
    seen.tip = $('tip').style.display;
    return seen;)");
  EXPECT_EQ(seen["action"], "none");  // the page gets the fingers, not the browser
  EXPECT_GT(seen["panned"]["x0"], seen["start"]["x0"]);
  EXPECT_GT(seen["panned"]["scroll"], seen["start"]["scroll"]);
  const auto width = [](const nlohmann::json& state) { return double(state["x1"]) - double(state["x0"]); };
  EXPECT_NEAR(width(seen["panned"]), width(seen["start"]), 1);
  EXPECT_NEAR(width(seen["pinched"]) / width(seen["panned"]), .5, .02);  // 80 pixels became 160
  EXPECT_EQ(seen["tip"], "block");
}

// WCAG 2: text has a contrast of at least 4.5, in both themes; everything can be reached and has a name.
TEST_P(TimelineInBrowser, CanBeReadAndReachedByEverybody) {
  const std::string page = judged_page(two_owners(), {"lease-exclusion"}, "for everybody"), script = R"(
    const seen = { theme: T.state().theme, low: [], unnamed: [] };
    const style = getComputedStyle(document.documentElement);
    const light = name => { const hex = style.getPropertyValue('--' + name).trim().slice(1);
      const [r, g, b] = [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
      return .2126 * r + .7152 * g + .0722 * b };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05) };
    const look = () => { for (const [ink, ground] of [['ink', 'bg'], ['ink', 'panel'], ['ink', 'select'], ['dim', 'bg'], ['dim', 'panel'],
      ['bad', 'bg'], ['bad', 'badbg'], ['ok', 'okbg'], ['a', 'bg'], ['a', 'badbg'], ['b', 'badbg'], ['faultink', 'bg'], ['fail', 'bg'],
      ['text', 'a'], ['text', 'b'], ['text', 'c'], ['text', 'record'], ['ink', 'hold'], ['a', 'select'], ['dim', 'line']])
        if (contrast(ink, ground) < 4.5) seen.low.push([T.state().theme, ink, ground, contrast(ink, ground)]) };
    look();
    const ground = colour(0, T.state().x1);
    press('theme'); look(); await frame(); seen.other = T.state().theme; seen.changed = String(ground) !== String(colour(0, T.state().x1));
    for (const e of document.querySelectorAll('button, input, select, [tabindex]'))
      if (!(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)) seen.unnamed.push(e.outerHTML);
    seen.label = canvas.getAttribute('aria-label');
    key('/'); seen.focus = document.activeElement.id;
    key('?', $('search')); seen.typed = $('help').hidden; key('?'); seen.help = $('help').hidden;
    seen.order = [...document.querySelectorAll('button, input, select, [tabindex]')].filter(e => e.tabIndex >= 0 && !e.disabled && e.offsetParent).map(e => e.id || e.textContent);
    return seen;)";
  for (const bool dark : {false, true}) {
    const nlohmann::json seen = run(page, script, dark ? "--blink-settings=preferredColorScheme=0" : "");
    EXPECT_EQ(seen["theme"], dark ? "dark" : "light");
    EXPECT_EQ(seen["other"], dark ? "light" : "dark");
    EXPECT_TRUE(seen["changed"]);
    EXPECT_EQ(seen["low"].size(), 0U) << seen["low"].dump(1);
    EXPECT_EQ(seen["unnamed"].size(), 0U) << seen["unnamed"].dump(1);
    EXPECT_NE(std::string(seen["label"]).find("violation 1 of 1"), std::string::npos) << seen["label"];
    EXPECT_EQ(seen["focus"], "search");
    EXPECT_EQ(seen["typed"], true);  // a question mark in the search is no command
    EXPECT_EQ(seen["help"], false);
    const std::vector<std::string> order = seen["order"];
    const auto at = [&](const std::string& id) {
      return std::find(order.begin(), order.end(), id) - order.begin();
    };
    EXPECT_LT(at("search"), at("canvas")) << seen["order"];
    EXPECT_LT(at("canvas"), at("list"));
    EXPECT_LT(at("list"), static_cast<std::ptrdiff_t>(order.size()));
  }
}

TEST_P(TimelineInBrowser, DrawsOfManyOperationsWhatIsInView) {
  const DrawnHistory drawn =
      draw_lock_history({.operations = 100'000, .keys = 20, .clients = 40, .seed = 3, .invalid = true});
  LinearizabilityOptions options;
  options.jepsen = true;
  const LinearizabilityResult judged = check_linearizable(drawn.history, options);
  ASSERT_NE(judged.first(), nullptr);
  Witness witness{.kind = "double-hold",
                  .why = judged.first()->reason,
                  .events = judged.first()->witness,
                  .key = "k",
                  .acquires = {}};
  witness.acquires = std::pair(*judged.first()->holder, judged.first()->at);
  witness.from_ns = witness.to_ns = drawn.history.events()[judged.first()->at].time_ns;
  Verdict verdict{.outcome = Outcome::violated, .reason = "", .witnesses = {witness}, .violations = 1};
  const nlohmann::json seen = run(page_of(drawn.history, {{"linearizable", verdict}}, "many"), R"(
    const seen = { start: T.state(), events: T.data.events.time.length };
    key('0'); await frame(); seen.all = T.state();
    for (let i = 0; i < 12; ++i) key('+'); await frame(); seen.close = T.state();
    return seen;)");
  EXPECT_GT(seen["events"], 190'000);
  EXPECT_EQ(seen["start"]["at"], 0);
  EXPECT_LT(seen["start"]["drawn"], 5'000);  // the violation's surroundings
  EXPECT_GT(seen["all"]["drawn"], 1'000);
  EXPECT_LT(seen["all"]["drawn"], 60'000);  // a bar or two a pixel and lane at most, of 150,000
  EXPECT_LT(seen["close"]["drawn"], seen["all"]["drawn"]);
}

}  // namespace
}  // namespace holdfast::checker
