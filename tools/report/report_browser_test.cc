// The page in a real browser: tables sort, links lead somewhere, timelines open in a frame of their own,
// nothing is wider than a phone.
#include <gtest/gtest.h>

#include <string>

#include "checker/testing/browser.h"
#include "tools/bench/bench_result.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

using checker::testing::run_in_page;

constexpr std::string_view kTools = R"(<script>
  const errors = []; addEventListener('error', e => errors.push(String(e.message)));
  addEventListener('securitypolicyviolation', e => errors.push(e.violatedDirective + ' ' + e.blockedURI));
  const first = (table, column) => [...table.tBodies[0].rows].map(row => row.cells[column].textContent);
</script>)";

class ReportInBrowser : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Chromium, ReportInBrowser, ::testing::ValuesIn(checker::testing::browsers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReportInBrowser);

std::string made_page() {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  const Ran ran = holdfast("run " + kScenarios + "bench/sale_holder_paused.toml --seed 1 --json " + path +
                           "/run.json --out " + path + "/kept --keep violated");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  BenchResult result;
  result.complete = true;
  for (const auto& [lock, pairs] :
       {std::pair("fair", 900.0), std::pair("reentrant", 1e4), std::pair("spin", 95.0)})
    result.at("uncontended", lock, "real/fibers", {{"clients", "50"}, {"connections", "shared"}})
        .add("pairs", pairs);
  write_file(path + "/bench.json", to_json(result));
  EXPECT_EQ(holdfast("report " + path).exit, 0);
  return read_text(path + "/report.html");
}

TEST_P(ReportInBrowser, TablesSortLinksLeadAndTimelinesOpen) {
  const auto seen = run_in_page(GetParam(), made_page(), kTools, R"(
    const table = document.querySelector('#measurements table.sorts'), heads = table.tHead.rows[0].cells;
    const before = first(table, 0);
    const press = i => heads[i].querySelector('button').click();
    press(heads.length - 1); const largest = first(table, 0), order = heads[heads.length - 1].ariaSort;
    press(heads.length - 1); const smallest = first(table, 0);
    press(0); const names = first(table, 0);
    const dead = [...document.querySelectorAll('a[href^="#"]')].filter(a => !document.getElementById(a.hash.slice(1)));
    const details = document.querySelector('details.timeline');
    const frame = await new Promise(done => {
      new MutationObserver(() => { const f = details.querySelector('iframe'); if (f) f.onload = () => done(f) })
        .observe(details, { childList: true });
      details.open = true;
    });
    return { before, largest, order, smallest, names, dead: dead.length, sandbox: String(frame.sandbox),
      whole: frame.srcdoc.startsWith('<!doctype html>') && frame.srcdoc.trimEnd().endsWith('</html>') };)");
  using Names = std::vector<std::string>;
  EXPECT_EQ(seen["before"], (Names{"fair", "reentrant", "spin"}));
  EXPECT_EQ(seen["largest"], (Names{"reentrant", "fair", "spin"}));
  EXPECT_EQ(seen["order"], "descending");
  EXPECT_EQ(seen["smallest"], (Names{"spin", "fair", "reentrant"}));
  EXPECT_EQ(seen["names"], (Names{"fair", "reentrant", "spin"}));
  EXPECT_EQ(seen["dead"], 0);
  EXPECT_EQ(seen["sandbox"], "allow-scripts");
  EXPECT_EQ(seen["whole"], true);
}

TEST_P(ReportInBrowser, NothingIsWiderThanAPhone) {
  const auto seen = run_in_page(GetParam(), made_page(), kTools, R"(
    const box = document.createElement('iframe');
    box.style.width = '390px'; box.style.height = '800px';
    box.srcdoc = document.documentElement.outerHTML.replace(/<script[^]*?<\/script>/g, '');
    await new Promise(done => { box.onload = done; document.body.append(box) });
    const page = box.contentDocument.documentElement;
    return { wide: page.scrollWidth, phone: page.clientWidth };)");
  EXPECT_LE(seen["wide"], seen["phone"]) << seen.dump();
}

}  // namespace
}  // namespace holdfast::tools
