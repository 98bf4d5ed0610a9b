// The annotation's advice: what it does to the exceptions and to the result of a method.
#include "sim/historic/annotation/annotation_advice.h"

#include <stdexcept>
#include <type_traits>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

class AnnotationAdviceTest : public PortsTest {};
HF_ON_ALL_PORTS(AnnotationAdviceTest);

// An application: its advice, and what that logged.
struct Service {
  explicit Service(Fixture& fixture)
      : client(fixture.runtime, fixture.network, fixture.options()),
        advice(client, [this](std::string_view what) { log.emplace_back(what); }) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  std::vector<std::string> log;
  AnnotationAdvice advice;
};

TEST_P(AnnotationAdviceTest, TheMethodRunsUnderItsLockAndItsResultIsLost) {
  run([](Fixture& fixture) {
    Service service(fixture);
    long asked = 0;
    std::int64_t left_s = 0;
    const auto deduct = service.advice.around({.key = "stock-lock", .expired_time = 10s}, [&](long id) {
      asked = id;
      left_s = service.ask({"TTL", "lock:stock-lock"}).integer;
      return std::string("nine are left");
    });
    static_assert(std::is_void_v<decltype(deduct(42L))>, "whatever the method returns");
    deduct(42);
    EXPECT_EQ(asked, 42);
    EXPECT_GT(left_s, 7);
    EXPECT_LE(left_s, 10);
    EXPECT_EQ(service.ask({"EXISTS", "lock:stock-lock"}).integer, 0);
    EXPECT_TRUE(service.log.empty());
  });
}

TEST_P(AnnotationAdviceTest, AnExceptionOfTheMethodReachesNobody) {
  run([](Fixture& fixture) {
    Service service(fixture);
    bool held = false;
    const auto deduct = service.advice.around({.key = "stock-lock"}, [&] {
      held = service.ask({"EXISTS", "lock:stock-lock"}).integer == 1;
      throw std::runtime_error("sold out");
    });
    EXPECT_NO_THROW(deduct());
    EXPECT_TRUE(held);
    EXPECT_EQ(service.log, std::vector<std::string>{"sold out"});
    EXPECT_EQ(service.ask({"EXISTS", "lock:stock-lock"}).integer, 0) << "released all the same";
    EXPECT_NO_THROW(service.advice.around({}, [] { throw 7; })());
    EXPECT_EQ(service.log.size(), 2u);
  });
}

// Three buyers of one unit. The method refuses two of them; the shop cannot know.
TEST_P(AnnotationAdviceTest, TheShopTellsABuyerWhoGotNothingThatHeBought) {
  run([](Fixture& fixture) {
    Service service(fixture);
    service.ask({"SET", "stock", "1"});
    const auto deduct = service.advice.around({.key = "stock-lock"}, [&] {
      if (service.ask({"GET", "stock"}).text == "0") throw std::runtime_error("sold out");
      service.ask({"SET", "stock", "0"});
    });
    int told_that_they_bought = 0;
    for (int buyer = 0; buyer < 3; ++buyer) {
      try {
        deduct();
        ++told_that_they_bought;
      } catch (const std::runtime_error&) {
      }
    }
    EXPECT_EQ(told_that_they_bought, 3);
    EXPECT_EQ(service.log.size(), 2u);
  });
}

TEST_P(AnnotationAdviceTest, WhoDoesNotGetTheLockIsToldAndTheMethodDoesNotRun) {
  run([](Fixture& fixture) {
    Service service(fixture);
    service.ask({"SET", "lock:stock-lock", "of somebody else"});
    bool ran = false;
    const auto deduct =
        service.advice.around({.key = "stock-lock", .timeout_for_lock = 150ms}, [&] { ran = true; });
    EXPECT_THROW(deduct(), WaitTimeout);
    EXPECT_FALSE(ran);
    EXPECT_TRUE(service.log.empty());
    EXPECT_EQ(service.ask({"GET", "lock:stock-lock"}).text, "of somebody else");
  });
}

// Two methods that have nothing to do with each other; neither names a key.
TEST_P(AnnotationAdviceTest, TheDefaultKeyIsOneLockForAll) {
  run([](Fixture& fixture) {
    Service service(fixture);
    const auto send_mail = service.advice.around({.timeout_for_lock = 150ms}, [] {});
    bool refused = false;
    const auto deduct = service.advice.around({}, [&] {
      EXPECT_EQ(service.ask({"EXISTS", "lock:your-biz-key"}).integer, 1);
      try {
        send_mail();
      } catch (const WaitTimeout&) {
        refused = true;
      }
    });
    deduct();
    EXPECT_TRUE(refused);
    EXPECT_NO_THROW(send_mail());
  });
}

// A process that dies in its method: nothing is logged, nothing is unlocked.
TEST(AnnotationAdvice, TheEndOfTheProcessIsPassedOn) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    testing::OtherProcess& other = fixture.add_process("shop");
    int logged = 0;
    bool inside = false;
    other.start("client", [&] {
      redis::Client client(other.runtime(), other.network(), fixture.options());
      const AnnotationAdvice advice(client, [&](std::string_view) { ++logged; });
      advice.around({}, [&] {
        inside = true;
        other.runtime().sleep_for(10s);
      })();
    });
    fixture.runtime.sleep_for(1s);
    EXPECT_TRUE(inside);
    other.crash();
    fixture.runtime.sleep_for(1s);
    EXPECT_EQ(logged, 0);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_EQ(client.call({"EXISTS", "lock:your-biz-key"}).reply.integer, 1);
  });
}

}  // namespace
}  // namespace holdfast::historic
