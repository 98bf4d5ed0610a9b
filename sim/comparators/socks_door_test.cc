// The way out of a server, as RFC 1928 has it: who is led where, and what is said to who may not pass.
#include "sim/comparators/socks_door.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/testing/server/redis_process.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class Guest {
 public:
  Guest(Process& process, const Endpoint& door)
      : runtime_(process.runtime()), stream_(process.network().connect(door, soon()).stream) {}
  // [parks] What is said to that, so many bytes; less at the end.
  std::string say(std::string_view what, std::size_t count) {
    EXPECT_TRUE(stream_->write(what, soon()).ok());
    return hear(count);
  }
  std::string hear(std::size_t count) {
    std::string heard;
    std::array<char, 512> buffer;
    while (heard.size() < count) {
      const IoResult got =
          stream_->read(std::span(buffer).first(std::min(buffer.size(), count - heard.size())), soon());
      if (!got.ok()) break;
      heard.append(buffer.data(), got.bytes);
    }
    return heard;
  }
  IoStatus end() {
    std::array<char, 1> one;
    return stream_->read(one, soon()).status;
  }
  Stream& stream() { return *stream_; }

 private:
  MonotonicTime soon() { return deadline_after(runtime_.now(), 1min); }
  Runtime& runtime_;
  std::unique_ptr<Stream> stream_;
};

const std::string kHello = "\x05\x01\x00"s, kWelcome = "\x05\x00"s;
const std::string kToFirst = "\x05\x01\x00\x01\xc0\x00\x02\x01\x09\x4c"s;  // 192.0.2.1:2380
const std::string kToSecond = "\x05\x01\x00\x01\xc0\x00\x02\x02\x09\x4c"s;
const std::string kByName = "\x05\x01\x00\x03\x05house\x00\x50"s;  // house:80

std::string reply(char said) { return "\x05"s + said + "\x00\x01\x00\x00\x00\x00\x00\x00"s; }

// Its host says back what it hears.
void with_door(const std::function<void(Process& harness, SocksDoor& door, const Endpoint& host)>& body) {
  const auto world = testing::make_world(testing::Kind::real);
  world->run([&] {
    Process& harness = world->harness();
    SocksDoor door(*world);
    auto listener = harness.network().listen({harness.address(), 0});
    Task echo = harness.runtime().spawn("host", [&] {
      for (;;) {
        Connected guest = listener->accept(kNever);
        if (guest.status != IoStatus::ok) return;
        std::array<char, 512> buffer;
        for (;;) {
          const IoResult got = guest.stream->read(buffer, kNever);
          if (!got.ok() || !guest.stream->write({buffer.data(), got.bytes}, kNever).ok()) break;
        }
      }
    });
    body(harness, door, listener->endpoint());
    listener->close();
    echo.join();
  });
}

TEST(SocksDoor, LeadsWhereItWasTold) {
  with_door([](Process& harness, SocksDoor& door, const Endpoint& host) {
    door.lead({"192.0.2.1", 2380}, host, host);
    door.lead({"house", 80}, host, host);
    for (const std::string& asked : {kToFirst, kByName}) {
      Guest guest(harness, door.endpoint());
      EXPECT_EQ(guest.say(kHello, 2), kWelcome);
      EXPECT_EQ(guest.say(asked, 10), reply(0));
      EXPECT_EQ(guest.say("hello", 5), "hello");
      guest.stream().finish_writing();
      EXPECT_EQ(guest.end(), IoStatus::eof);  // the host's end
    }
  });
}

TEST(SocksDoor, SaysWhyNot) {
  with_door([](Process& harness, SocksDoor& door, const Endpoint& host) {
    const Endpoint nobody{host.host, choose_port(harness.network(), host.host)};
    door.lead({"192.0.2.1", 2380}, nobody, nobody);
    door.lead({"192.0.2.2", 2380}, host, nobody);
    const std::pair<std::string, char> kCases[] = {
        {kToFirst, 5},                                     // refused
        {kToSecond, 5},                                    // a proxy would take it, and has nobody behind it
        {kByName, 2},                                      // not allowed
        {"\x05\x02\x00\x01\xc0\x00\x02\x01\x09\x4c"s, 7},  // BIND
        {"\x05\x01\x00\x04"s, 8},                          // IPv6
    };
    for (const auto& [asked, said] : kCases) {
      Guest guest(harness, door.endpoint());
      EXPECT_EQ(guest.say(kHello, 2), kWelcome);
      EXPECT_EQ(guest.say(asked, 11), reply(said)) << static_cast<int>(said);
    }
    EXPECT_EQ(Guest(harness, door.endpoint()).say("\x05\x01\x02"s, 3), "\x05\xff"s);  // a password
    EXPECT_EQ(Guest(harness, door.endpoint()).say("GET / HTTP/1.1\r\n\r\n", 1), "");
  });
}

// The connections of a server that is not there any more do not stay.
TEST(SocksDoor, EndsConnectionsWhenItGoes) {
  const auto world = testing::make_world(testing::Kind::real);
  world->run([&] {
    Process& harness = world->harness();
    auto door = std::make_unique<SocksDoor>(*world);
    const auto host = harness.network().listen({harness.address(), 0});
    door->lead({"192.0.2.1", 2380}, host->endpoint(), host->endpoint());
    Guest guest(harness, door->endpoint());
    EXPECT_EQ(guest.say(kHello, 2), kWelcome);
    EXPECT_EQ(guest.say(kToFirst, 10), reply(0));
    door.reset();
    EXPECT_NE(guest.end(), IoStatus::timed_out);
  });
}

}  // namespace
}  // namespace holdfast::sim
