// Runtime::wait_fd, on both implementations that have file descriptors.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>

#include "lib/runtime/runtime.h"
#include "lib/testing/ports.h"

namespace {
std::atomic<bool> epoll_pwait2_is_forbidden = false;
}

// In the place of the system's, for this test program: a sandbox may refuse what is newer than itself.
extern "C" int epoll_pwait2(int epoll, epoll_event* events, int size, const timespec* timeout,
                            const sigset_t* mask) {
  static const auto system = reinterpret_cast<decltype(&epoll_pwait2)>(dlsym(RTLD_NEXT, "epoll_pwait2"));
  if (!epoll_pwait2_is_forbidden) return system(epoll, events, size, timeout, mask);
  errno = EPERM;
  return -1;
}

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Ports;

MonotonicTime soon(Runtime& runtime) { return runtime.now() + 30s; }

class FdConformance : public ::testing::TestWithParam<Ports> {
 protected:
  void on(const std::function<void(Runtime&)>& body) {
    redis::testing::on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
  void SetUp() override { ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0); }
  void TearDown() override {
    for (const int end : ends) ::close(end);
  }
  std::array<int, 2> ends{};
};
INSTANTIATE_TEST_SUITE_P(Implementations, FdConformance,
                         ::testing::ValuesIn(holdfast::testing::on_real_time()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(FdConformance, ReadinessAndDeadlines) {
  on([this](Runtime& runtime) {
    EXPECT_TRUE(runtime.wait_fd(ends[1], FdInterest::writable, soon(runtime)));
    EXPECT_FALSE(runtime.wait_fd(ends[0], FdInterest::readable, runtime.now() + 2ms));
    EXPECT_FALSE(runtime.wait_fd(ends[0], FdInterest::readable, runtime.now() - 1s));
    const Task writer = runtime.spawn("writer", [&] {
      runtime.sleep_for(2ms);
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
    });
    EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, kNever));
  });
}

TEST_P(FdConformance, ANumberMayBeUsedAgain) {
  on([this](Runtime& runtime) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(runtime.wait_fd(ends[0], FdInterest::readable, runtime.now() + 1ms));
      for (const int end : ends) {
        runtime.forget_fd(end);
        ::close(end);
      }
      const std::array<int, 2> before = ends;
      ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
      EXPECT_EQ(ends, before);  // the lowest that are free
      const Task writer = runtime.spawn("writer", [&] {
        runtime.sleep_for(1ms);
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
      });
      EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, soon(runtime)));
      char byte = 0;
      EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    }
  });
}

// Nobody waits any more, or for the other side: it stays ready for the next.
TEST_P(FdConformance, WhatNobodyWaitsForIsNotLost) {
  on([this](Runtime& runtime) {
    EXPECT_FALSE(runtime.wait_fd(ends[0], FdInterest::readable, runtime.now() + 1ms));
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    runtime.sleep_for(2ms);  // the event loop sees it
    EXPECT_TRUE(runtime.wait_fd(ends[1], FdInterest::writable, soon(runtime)));
    runtime.sleep_for(2ms);
    EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, soon(runtime)));
    EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, soon(runtime)));  // still
  });
}

TEST_P(FdConformance, AForbiddenCallOfTheSystemIsReplaced) {
  on([this](Runtime& runtime) {
    epoll_pwait2_is_forbidden = true;
    const Task writer = runtime.spawn("writer", [&] {
      runtime.sleep_for(2ms);
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
    });
    EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, soon(runtime)));
    epoll_pwait2_is_forbidden = false;
  });
}

TEST_P(FdConformance, ABrokenDescriptorCountsAsReady) {
  on([this](Runtime& runtime) {
    ::close(ends[1]);
    ends[1] = -1;
    EXPECT_TRUE(runtime.wait_fd(ends[0], FdInterest::readable, soon(runtime)));  // end of file
  });
}

}  // namespace
}  // namespace holdfast
