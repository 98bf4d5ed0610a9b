// The timeline in a real browser: a script looks, clicks, hovers and presses keys. Skipped where there is no
// Chromium (Debian: chromium).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "checker/linearizability/linearizability.h"
#include "checker/story/timeline.h"
#include "checker/testing/draw_history.h"
#include "checker/testing/script_history.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::checker {
namespace {

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.append(buffer.data(), got);
  pclose(pipe);
  return output;
}

std::string browser() {
  const std::string found =
      output_of("command -v chromium || command -v chromium-browser || command -v google-chrome");
  return found.substr(0, found.find('\n'));
}

// Runs `script` in the page; what it returns, as JSON. It has: T (window.timeline), key(name), click(id),
// hover(lane, microseconds) -> the text of the tip, frame() to draw now.
nlohmann::json run_in_page(const std::string& page, const std::string& script) {
  const TemporaryFolder folder;
  const std::string tools = R"(<script>
    const T = window.timeline, frame = async () => T.draw();  // headless has no frames
    const key = name => dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true }));
    const click = id => document.getElementById(id).click();
    const hover = (lane, t) => { const [x, y] = T.point(lane, t), canvas = document.querySelector('canvas');
      canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: x, clientY: y, bubbles: true }));
      const tip = document.getElementById('tip'); return tip.style.display === 'block' ? tip.textContent : null };
    const errors = []; addEventListener('error', e => errors.push(String(e.message)));
    (async () => { let result; try { result = await (async () => {)" +
                            script + R"(})() } catch (e) { result = { failed: String(e) } }
      const out = document.createElement('pre'); out.id = 'result'; out.textContent = JSON.stringify({ result, errors });
      document.body.append(out) })();</script>)";
  const std::string end = "</html>", file = folder.path() + "/page.html";
  std::ofstream(file) << page.substr(0, page.rfind(end)) << tools << end;
  const std::string dom =
      output_of(browser() +
                " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=1280,640"
                " --virtual-time-budget=20000 --user-data-dir=" +
                folder.path() + "/profile --dump-dom file://" + file + " 2>/dev/null");
  const std::string begin = "<pre id=\"result\">";
  const std::size_t at = dom.find(begin);
  if (at == std::string::npos) return {{"failed", "no result in the page: " + dom.substr(0, 2000)}};
  std::string text = dom.substr(at + begin.size(), dom.find("</pre>", at) - at - begin.size());
  for (const auto& [escaped, plain] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")}) {
    for (std::size_t i = 0; (i = text.find(escaped, i)) != std::string::npos; ++i) {
      text.replace(i, std::string(escaped).size(), plain);
    }
  }
  const nlohmann::json answer = nlohmann::json::parse(text);
  EXPECT_EQ(answer["errors"].size(), 0U) << answer.dump();
  return answer["result"];
}

TEST(TimelineInBrowser, ClickedThrough) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  const History history = testing::history_of(R"(
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
  const Verdict verdict = find_check("lease-exclusion")->run(history, {});
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  std::ostringstream page;
  write_timeline(history, verdict.witnesses, {.title = "two owners"}, page);
  const nlohmann::json seen = run_in_page(page.str(), R"(
    const seen = { start: T.state(), verdict: document.getElementById('verdict').textContent,
      why: document.getElementById('why').textContent, title: document.title };
    seen.owner = hover(1, 25000); seen.clash = hover(2, 50000); seen.nothing = hover(1, 300);
    key('0'); await frame(); seen.all = T.state();
    key('+'); await frame(); seen.closer = T.state();
    key('ArrowRight'); await frame(); seen.right = T.state();
    key('-'); key('n'); await frame(); seen.again = T.state();
    click('fit'); await frame(); seen.clicked = T.state();
    click('in'); click('prev'); await frame(); seen.prev = T.state();
    return seen;)");
  ASSERT_FALSE(seen.contains("failed")) << seen.dump(2);
  // It opens at the violation, the two owners on top.
  EXPECT_EQ(seen["start"]["at"], 0);
  EXPECT_EQ(seen["start"]["rows"][0], "c1/0");
  EXPECT_EQ(seen["start"]["rows"][1], "c2/0");
  EXPECT_LT(seen["start"]["x0"], 20000);
  EXPECT_GT(seen["start"]["x1"], 60000);
  EXPECT_LT(seen["start"]["x1"], 200000);
  EXPECT_EQ(seen["verdict"], "✖ 1 violation");
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
  EXPECT_EQ(seen["clicked"]["x1"], seen["all"]["x1"]);
  EXPECT_EQ(seen["prev"]["x0"], seen["start"]["x0"]);
}

TEST(TimelineInBrowser, DrawsOfManyOperationsWhatIsInView) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
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
  std::ostringstream page;
  write_timeline(drawn.history, {witness}, {.title = "many"}, page);
  const nlohmann::json seen = run_in_page(page.str(), R"(
    const seen = { start: T.state(), operations: T.data.ops.length };
    key('0'); await frame(); seen.all = T.state();
    for (let i = 0; i < 12; ++i) key('+'); await frame(); seen.close = T.state();
    return seen;)");
  ASSERT_FALSE(seen.contains("failed")) << seen.dump(2);
  EXPECT_GT(seen["operations"], 99'000);
  EXPECT_EQ(seen["start"]["at"], 0);
  EXPECT_LT(seen["start"]["drawn"], 5'000);  // the violation's surroundings
  EXPECT_GT(seen["all"]["drawn"], 1'000);
  EXPECT_LT(seen["all"]["drawn"], 60'000);  // a bar or two a pixel and lane at most, of 150,000
  EXPECT_LT(seen["close"]["drawn"], seen["all"]["drawn"]);
}

}  // namespace
}  // namespace holdfast::checker
