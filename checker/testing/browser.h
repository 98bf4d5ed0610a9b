// A page in a real browser, for tests: a script looks, clicks, types and presses keys. They run where
// Chromium is when the tests are listed (Debian: chromium). Its 400 MB are too much for every build to need.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::checker::testing {

// One, or none.
inline std::vector<std::string> browsers() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (access(path, X_OK) == 0) return {path};
  }
  return {};
}

inline std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.append(buffer.data(), got);
  pclose(pipe);
  return output;
}

// Opens `page`, puts `tools` (markup) at its end and runs `script`, the body of an asynchronous function;
// what it returns, as JSON. `tools` has a list `errors`.
inline nlohmann::json run_in_page(const std::string& browser, const std::string& page, std::string_view tools,
                                  const std::string& script, const std::string& flags = "") {
  std::string folder = (std::filesystem::temp_directory_path() / "browser-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {{"failed", folder + " cannot be made"}};
  const std::string runner = "<script>(async () => { let result; try { result = await (async () => {" +
                             script +
                             R"(})() } catch (e) { result = { failed: String(e) + e.stack } }
      const out = document.createElement('pre'); out.id = 'result';
      out.textContent = JSON.stringify({ result, errors }); document.body.append(out) })();</script>)";
  const std::string end = "</body>", file = folder + "/page.html";
  std::ofstream(file) << page.substr(0, page.rfind(end)) << tools << runner << page.substr(page.rfind(end));
  const std::string dom =
      output_of(browser +
                " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run"
                " --disable-background-networking --disable-component-update --disable-sync"
                " --window-size=1280,800 --virtual-time-budget=20000 " +
                flags + " --user-data-dir=" + folder + "/profile --dump-dom file://" + file + " 2>/dev/null");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  const std::string begin = "<pre id=\"result\">";
  const std::size_t at = dom.rfind(begin);
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
  EXPECT_FALSE(answer["result"].contains("failed")) << answer.dump(2);
  return answer["result"];
}

}  // namespace holdfast::checker::testing
