// A port that was free a moment ago may be somebody else's now.
#include "sim/world/listen_by_number.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <system_error>
#include <vector>

namespace holdfast::sim {
namespace {

// Gives away the ports 1001, 1002, ...; each asking by number for one of `taken` fails with `problem`.
class Ports final : public Network {
 public:
  std::set<std::uint16_t> taken;
  int problem = EADDRINUSE;
  std::vector<std::uint16_t> asked;
  std::set<std::uint16_t> open;

  Connected connect(const Endpoint&, MonotonicTime) override { return {IoStatus::refused, nullptr}; }
  std::unique_ptr<Listener> listen(const Endpoint& at) override {
    asked.push_back(at.port);
    if (taken.contains(at.port) || open.contains(at.port))
      throw std::system_error(problem, std::generic_category(), "cannot listen");
    return std::make_unique<Door>(*this, at.port == 0 ? next_++ : at.port);
  }

 private:
  class Door final : public Listener {
   public:
    Door(Ports& ports, std::uint16_t port) : ports_(ports), port_(port) { ports_.open.insert(port_); }
    ~Door() override { ports_.open.erase(port_); }
    Connected accept(MonotonicTime) override { return {IoStatus::timed_out, nullptr}; }
    Endpoint endpoint() const override { return {"127.0.0.1", port_}; }
    void close() noexcept override {}

   private:
    Ports& ports_;
    const std::uint16_t port_;
  };

  std::uint16_t next_ = 1001;
};

const Endpoint kAnyPort{"127.0.0.1", 0};

TEST(ListenByNumber, AFreePortIsAskedForByItsNumber) {
  Ports ports;
  const auto listener = listen_by_number(ports, kAnyPort);
  EXPECT_EQ(listener->endpoint().port, 1001);
  EXPECT_EQ(ports.asked, (std::vector<std::uint16_t>{0, 1001}));
  EXPECT_EQ(ports.open, std::set<std::uint16_t>{1001});
}

TEST(ListenByNumber, OneThatWasTakenInBetweenIsLeftForAnother) {
  Ports ports;
  ports.taken = {1001, 1002};
  const auto listener = listen_by_number(ports, kAnyPort);
  EXPECT_EQ(listener->endpoint().port, 1003);
  EXPECT_EQ(ports.asked, (std::vector<std::uint16_t>{0, 1001, 0, 1002, 0, 1003}));
  EXPECT_EQ(ports.open, std::set<std::uint16_t>{1003});
}

TEST(ListenByNumber, GivesUpInTheEnd) {
  Ports ports;
  for (std::uint16_t port = 1001; port < 1100; ++port) ports.taken.insert(port);
  EXPECT_THROW(listen_by_number(ports, kAnyPort), std::system_error);
  EXPECT_EQ(ports.asked.size(), 2u * 21);
  EXPECT_TRUE(ports.open.empty());
}

TEST(ListenByNumber, AnotherProblemIsTheCallers) {
  Ports ports;
  ports.taken = {1001};
  ports.problem = EACCES;
  EXPECT_THROW(listen_by_number(ports, kAnyPort), std::system_error);
  EXPECT_EQ(ports.asked.size(), 2u);
}

TEST(ListenByNumber, APortThatWasNamedIsTakenAsItIs) {
  Ports ports;
  EXPECT_EQ(listen_by_number(ports, {"127.0.0.1", 7})->endpoint().port, 7);
  EXPECT_EQ(ports.asked, std::vector<std::uint16_t>{7});
}

}  // namespace
}  // namespace holdfast::sim
