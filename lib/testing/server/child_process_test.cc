#include "lib/testing/server/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "lib/testing/server/temporary_folder.h"

namespace holdfast {
namespace {

ChildOptions sleeper(const std::string& folder) {
  return {.program = "/bin/sh",
          .arguments = {"-c", "echo up; sleep 600 & wait"},
          .folder = folder,
          .output = folder + "/output"};
}

// Waits (without a limit of its own) until `pid` is gone or a zombie that nobody reaps.
void wait_until_gone(int pid) {
  for (;;) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(stat, line) || line.find(") Z") != std::string::npos) return;
    ::usleep(1000);
  }
}

TEST(ChildProcess, RunsPausesAndDies) {
  TemporaryFolder folder;
  ChildProcess child(sleeper(folder.path()));
  EXPECT_TRUE(child.running());
  child.pause();
  std::ifstream stat("/proc/" + std::to_string(child.pid()) + "/stat");
  std::string line;
  std::getline(stat, line);
  EXPECT_NE(line.find(") T"), std::string::npos) << line;
  child.resume();
  const int pid = child.pid();
  child.kill();
  EXPECT_FALSE(child.running());
  EXPECT_EQ(::kill(pid, 0), -1);
  child.kill();  // idempotent
}

TEST(ChildProcess, SaysWhyItCannotStart) {
  TemporaryFolder folder;
  ChildOptions options = sleeper(folder.path());
  options.program = "/nonexistent/program";
  EXPECT_THROW(ChildProcess{options}, std::system_error);
  options = sleeper(folder.path());
  options.folder = "/nonexistent/folder";
  EXPECT_THROW(ChildProcess{options}, std::system_error);
}

TEST(ChildProcess, FindsProgramsInPath) {
  EXPECT_NE(find_program("sh"), "");
  EXPECT_EQ(find_program("no-such-program-anywhere"), "");
}

TEST(TemporaryFolder, IsGoneAfterwards) {
  std::string path;
  {
    TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path + "/file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A harness in miniature, killed at its most unprepared: its server and its folder must go.
TEST(TemporaryFolder, IsNotMadeBelowANameWithALineBreak) {
  TemporaryFolder folder;
  const std::string odd = folder.path() + "/a\nd b";
  std::filesystem::create_directory(odd);
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", odd.c_str(), 1);
  EXPECT_THROW(TemporaryFolder(), std::system_error);
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(odd));
}

TEST(Guardian, TidiesUpAfterSigkillOfTheHarness) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t harness = ::fork();
  ASSERT_GE(harness, 0);
  if (harness == 0) {
    // A program of its own would have its own guardian; this copy inherited ours, so it starts afresh.
    ::close(pipe_ends[0]);
    ::execl("/proc/self/exe", "test", "--gtest_filter=Guardian.DISABLED_Harness",
            "--gtest_also_run_disabled_tests", ("--pipe=" + std::to_string(pipe_ends[1])).c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string said;
  char chunk[256];
  while (said.find('\n') == std::string::npos) {
    const ssize_t n = ::read(pipe_ends[0], chunk, sizeof chunk);
    ASSERT_GT(n, 0);
    said.append(chunk, static_cast<std::size_t>(n));
  }
  ::close(pipe_ends[0]);
  const int server = std::stoi(said);
  const std::string folder = said.substr(said.find(' ') + 1, said.find('\n') - said.find(' ') - 1);
  EXPECT_EQ(::kill(server, 0), 0);
  EXPECT_TRUE(std::filesystem::exists(folder));

  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  wait_until_gone(server);
  while (std::filesystem::exists(folder)) ::usleep(1000);
}

// Run by the test above, as a program of its own.
TEST(Guardian, DISABLED_Harness) {
  int out = -1;
  for (const std::string& argument : ::testing::internal::GetArgvs()) {
    if (argument.starts_with("--pipe=")) out = std::stoi(argument.substr(7));
  }
  if (out < 0) return;
  TemporaryFolder folder;
  ChildProcess child(sleeper(folder.path()));
  const std::string line = std::to_string(child.pid()) + " " + folder.path() + "\n";
  ASSERT_GT(::write(out, line.data(), line.size()), 0);
  for (;;) ::pause();
}

}  // namespace
}  // namespace holdfast
