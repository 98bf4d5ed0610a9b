// What lib/SURVIVOR.md tells operators to do, done as it stands there, on five real servers, with clients who
// want locks in between.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/lock/api/errors.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/folders.h"
#include "tools/holdfast/testing/run_tool.h"
#include "tools/holdfast/testing/survivor_set.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;

// The commands of a block, a line each.
using Block = std::vector<std::string>;

// By heading of the section "For operators", in the order of the page.
std::vector<std::pair<std::string, std::vector<Block>>> blocks_of_the_page() {
  std::vector<std::pair<std::string, std::vector<Block>>> chapters;
  std::istringstream page(read_text(holdfast::testing::source_path("lib/SURVIVOR.md")));
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == "## For operators";
    if (!here) continue;
    if (line.starts_with("### ")) chapters.push_back({line.substr(4), {}});
    if (line == "```console") chapters.back().second.emplace_back();
    if (line.starts_with("$ ")) chapters.back().second.back().push_back(line.substr(2));
  }
  return chapters;
}

struct Operator : SurvivorSet {
  Operator()
      : SurvivorSet(5, [](int, RedisProcessOptions& options) {
          std::filesystem::create_directories(options.folder);
          options.configuration = options.folder + "/redis.conf";
          std::ofstream(options.configuration) << kFresh;
        }) {}
  static constexpr const char* kFresh = "maxmemory-policy noeviction\n";
  void configure(int i) const {
    std::ofstream(folder.path() + "/" + std::to_string(i) + "/redis.conf", std::ios::trunc) << kFresh;
  }

  // The page's addresses are those of our servers, and its leases a tenth as long.
  std::string here(const std::string& command) const {
    static const std::regex kPlace(R"(10\.0\.0\.(\d)( -p |:| )6379|(longest-lease \d+)0s)");
    std::string line;
    std::size_t done = 0;
    for (std::sregex_iterator at(command.begin(), command.end(), kPlace), end; at != end; ++at) {
      line += command.substr(done, static_cast<std::size_t>(at->position()) - done);
      done = static_cast<std::size_t>(at->position() + at->length());
      if ((*at)[3].matched) {
        line += (*at)[3].str() + "s";
      } else {
        const Endpoint endpoint = servers.at(static_cast<std::size_t>(std::stoi((*at)[1])) - 1)->endpoint();
        line += "127.0.0.1" + (*at)[2].str() + std::to_string(endpoint.port);
      }
    }
    return line + command.substr(done);
  }

  // Runs them one after the other. What `holdfast` refuses because a link is not up yet is run again, as the
  // page says. Returns what the last one wrote.
  Ran follow_page(const Block& block, int exit = 0) {
    Ran ran;
    for (const std::string& written : block) {
      const std::string command = here(written);
      const bool ours = command.starts_with("holdfast ");
      EXPECT_TRUE(ours || command.starts_with("redis-cli ")) << command;
      for (int i = 0; i < 600; ++i) {
        ran = run_shell("export HOLDFAST_CLIENT_PASSWORD=secret PATH=" + holdfast::testing::build_path("") +
                        ":$PATH; " + command);
        if (!ours || ran.exit == exit) break;
        runtime.sleep_for(50ms);
      }
      if (ours) {
        EXPECT_EQ(ran.exit, exit) << command << "\n" << ran.out << ran.err;
        EXPECT_FALSE(ran.out.empty()) << command;
      } else {
        EXPECT_TRUE(ran.out == "OK\n" || ran.out == "1\n") << command << "\n" << ran.out << ran.err;
      }
    }
    return ran;
  }

  // A client that takes these servers (by their numbers on the page) for the members gets a lock.
  // Throws what the lock throws.
  bool granted(const std::vector<std::size_t>& numbers, Duration longest_lease, Duration wait = 60s) {
    redis::ClientOptions options{.user = "app", .password = "secret"};
    SurvivorOptions survivor{.members = {}, .longest_lease = longest_lease};
    for (const std::size_t number : numbers) {
      survivor.members.push_back(address(number - 1));
      options.nodes.push_back({"", servers.at(number - 1)->endpoint()});
    }
    redis::Client client(runtime, network, options);
    ReentrantLocks locks(client, {.lease = longest_lease, .survivor = survivor});
    const auto lock = locks.obtain("stock");
    if (!lock->try_lock_for(wait)) return false;
    lock->unlock();
    return true;
  }
  // Such a client is refused, with `code`.
  void expect_refused(const std::vector<std::size_t>& numbers, Duration longest_lease,
                      const std::string& code) {
    std::string why;
    // A busy machine may not answer in time.
    for (int i = 0; i < 100 && why.find(code) == std::string::npos; ++i) {
      try {
        ASSERT_FALSE(granted(numbers, longest_lease, 300ms));
        why = "no answer in time";
      } catch (const LockError& error) {
        why = error.what();
      }
    }
    EXPECT_NE(why.find(code), std::string::npos) << why;
  }
};

TEST(SurvivorPage, DoesWhatItSaysAsItIsWritten) {
  const auto chapters = blocks_of_the_page();
  std::vector<std::string> titles;
  std::map<std::string, std::vector<Block>> blocks;
  for (const auto& [title, its] : chapters) {
    titles.push_back(title);
    blocks[title] = its;
  }
  ASSERT_EQ(titles, (std::vector<std::string>{"Set up", "A failover", "Replace a node", "Another member",
                                              "Another longest lease", "Roll back"}));
  const auto block = [&](const std::string& title, std::size_t count) -> const std::vector<Block>& {
    EXPECT_EQ(blocks.at(title).size(), count) << title;
    return blocks.at(title);
  };
  Operator set;

  Ran ran = set.follow_page(block("Set up", 2)[0]);
  EXPECT_TRUE(ran.says("longest lease 1s")) << ran.out;
  EXPECT_TRUE(ran.says("! the user default, ")) << ran.out;
  EXPECT_TRUE(set.granted({1, 2, 3}, 1s));
  ran = set.follow_page(block("Set up", 2)[1]);
  EXPECT_FALSE(ran.says("!")) << ran.out;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string kept = read_text(set.folder.path() + "/" + std::to_string(i) + "/redis.conf");
    EXPECT_NE(kept.find("user app on"), std::string::npos) << kept;
    EXPECT_NE(kept.find("-config|resetstat"), std::string::npos) << kept;
  }

  set.servers[0]->kill();
  ran = set.follow_page(block("A failover", 2)[0], 69);
  EXPECT_TRUE(ran.says("quarantine  begins with the next request")) << ran.out;
  EXPECT_TRUE(ran.says(set.address(0) + "  cannot be asked")) << ran.out;
  EXPECT_TRUE(set.granted({1, 2, 3}, 1s));
  set.servers[0]->start();
  ran = set.follow_page(block("A failover", 2)[1]);
  EXPECT_TRUE(ran.says("quarantine  over for")) << ran.out;
  EXPECT_TRUE(set.granted({1, 2, 3}, 1s));

  set.servers[2]->kill();
  set.servers[2]->erase_disk();
  set.configure(2);
  set.servers[2]->start();
  ran = set.follow_page(block("Replace a node", 2)[0]);
  EXPECT_TRUE(ran.says("user app made on " + set.address(2) + ", and kept in ")) << ran.out;
  EXPECT_TRUE(ran.says("all members have it; it was set up before")) << ran.out;
  EXPECT_TRUE(set.granted({1, 2, 3}, 1s));
  set.follow_page(block("Replace a node", 2)[1]);
  EXPECT_TRUE(set.granted({1, 2, 4}, 1s));
  set.expect_refused({1, 2, 3}, 1s, "FOREIGNREPLICA");

  set.follow_page(block("Another member", 1)[0]);
  EXPECT_TRUE(set.granted({1, 2, 4, 5}, 1s));

  set.follow_page(block("Another longest lease", 1)[0]);
  EXPECT_TRUE(set.granted({1, 2, 4, 5}, 2s));
  set.expect_refused({1, 2, 4, 5}, 1s, "OTHERCONSTANTS");

  set.follow_page(block("Roll back", 2)[0]);
  EXPECT_TRUE(set.granted({1, 2, 4, 5}, 1s));
  set.follow_page(block("Roll back", 2)[1]);
  EXPECT_TRUE(set.servers[1]->call({"GET", "holdfast:survivor"}).is_nil());
}

}  // namespace
}  // namespace holdfast::tools
