// Streams between the processes of the embedded world.
#include "sim/world/sim_network.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sim/world/doorway.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHop = 20us;

std::string read_all(Stream& stream, IoStatus& last) {
  std::string text;
  std::vector<char> buffer(5000);
  for (;;) {
    const IoResult result = stream.read(buffer, kNever);
    last = result.status;
    if (!result.ok()) return text;
    text.append(buffer.data(), result.bytes);
  }
}

IoResult read_some(Stream& stream, MonotonicTime deadline = kNever) {
  char buffer[100];
  return stream.read(buffer, deadline);
}

// A connection between the processes "a" and "b", both ends held by the test's body; the body runs on the
// harness, whose task may call what belongs to either.
struct Pair {
  World& world;
  Process& a;
  Process& b;
  Runtime& runtime;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> from_a, from_b;

  MonotonicTime a_in(Duration time) { return deadline_after(a.runtime().now(), time); }
  MonotonicTime b_in(Duration time) { return deadline_after(b.runtime().now(), time); }
};

void with_pair(const std::function<void(Pair&)>& body) {
  const auto world = make_embedded_world({.hop = kHop});
  world->run([&] {
    Pair pair{*world, world->add_process("a"), world->add_process("b"), world->harness().runtime(), {}, {},
              {}};
    pair.listener = pair.b.network().listen({"", 6379});
    pair.from_a = pair.a.network().connect(pair.listener->endpoint(), kNever).stream;
    ASSERT_NE(pair.from_a, nullptr);
    pair.from_b = pair.listener->accept(kNever).stream;
    ASSERT_NE(pair.from_b, nullptr);
    body(pair);
  });
}

TEST(SimNetwork, ConnectTakesARoundTripAndBytesAHop) {
  with_pair([](Pair& pair) {
    EXPECT_EQ(pair.world.now_ns(), 2 * kHop.count());
    EXPECT_EQ(pair.from_a->peer(), (Endpoint{pair.b.address(), 6379}));
    EXPECT_EQ(pair.from_b->peer(), pair.from_a->local());
    EXPECT_EQ(pair.from_b->peer().host, pair.a.address());
    pair.from_a->write("hello ", kNever);
    pair.from_a->write("there", kNever);
    pair.from_a->finish_writing();
    IoStatus last{};
    EXPECT_EQ(read_all(*pair.from_b, last), "hello there");
    EXPECT_EQ(last, IoStatus::eof);
    EXPECT_EQ(pair.world.now_ns(), 3 * kHop.count());
    EXPECT_EQ(pair.from_a->write("more", kNever).status, IoStatus::closed);
    EXPECT_TRUE(pair.from_b->write("the other way is open", kNever).ok());
    EXPECT_TRUE(read_some(*pair.from_a).ok());
  });
}

TEST(SimNetwork, NobodyListensNobodyIsThere) {
  with_pair([](Pair& pair) {
    const std::int64_t start = pair.world.now_ns();
    EXPECT_EQ(pair.a.network().connect({pair.b.address(), 1}, kNever).status, IoStatus::refused);
    EXPECT_EQ(pair.world.now_ns() - start, 2 * kHop.count());
    EXPECT_EQ(pair.a.network().connect({"10.77.0.1", 1}, kNever).status, IoStatus::unreachable);
    const Endpoint at = pair.listener->endpoint();
    EXPECT_EQ(pair.a.network().connect(at, pair.a_in(kHop)).status, IoStatus::timed_out);
    // The far end was opened all the same, and learns that nobody is there.
    const auto left = pair.listener->accept(pair.b_in(1s)).stream;
    ASSERT_NE(left, nullptr);
    EXPECT_EQ(read_some(*left).status, IoStatus::reset);
    EXPECT_EQ(pair.listener->accept(pair.b_in(1s)).status, IoStatus::timed_out);
  });
}

TEST(SimNetwork, AWriterWaitsForItsReader) {
  with_pair([](Pair& pair) {
    std::string text;
    for (int i = 0; text.size() < 5 * kSimWindowBytes; ++i) text += std::to_string(i) + " ";
    IoResult wrote;
    Task writer = pair.runtime.spawn("writer", [&] {
      wrote = pair.from_a->write(text, kNever);
      pair.from_a->finish_writing();
    });
    pair.runtime.sleep_for(1s);
    EXPECT_EQ(wrote.bytes, 0u);  // still waits
    IoStatus last{};
    EXPECT_EQ(read_all(*pair.from_b, last), text);
    writer.join();
    EXPECT_EQ(wrote.bytes, text.size());

    const IoResult late = pair.from_b->write(text, pair.b_in(1ms));
    EXPECT_EQ(late.status, IoStatus::timed_out);
    EXPECT_EQ(late.bytes, kSimWindowBytes);
  });
}

TEST(SimNetwork, ResetLosesWhatWasNotRead) {
  with_pair([](Pair& pair) {
    pair.from_a->write("unread", kNever);
    pair.from_a->reset();
    EXPECT_EQ(pair.from_a->write("x", kNever).status, IoStatus::closed);
    pair.runtime.sleep_for(1ms);
    EXPECT_EQ(read_some(*pair.from_b).status, IoStatus::reset);
    EXPECT_EQ(pair.from_b->write("x", kNever).status, IoStatus::reset);
  });
}

TEST(SimNetwork, CloseEndsWaitsOfThisSide) {
  with_pair([](Pair& pair) {
    IoStatus status = IoStatus::ok;
    Task reader = pair.runtime.spawn("reader", [&] { status = read_some(*pair.from_a).status; });
    pair.runtime.sleep_for(1ms);
    pair.from_a->close();
    reader.join();
    EXPECT_EQ(status, IoStatus::closed);
    EXPECT_EQ(read_some(*pair.from_b).status, IoStatus::eof);

    IoStatus accepted = IoStatus::ok;
    Task acceptor = pair.runtime.spawn("acceptor", [&] { accepted = pair.listener->accept(kNever).status; });
    pair.runtime.sleep_for(1ms);
    pair.listener.reset();  // destroyed, even
    acceptor.join();
    EXPECT_EQ(accepted, IoStatus::closed);
  });
}

TEST(SimNetwork, AKilledProcessLeavesWhatItWroteAndAnEnd) {
  with_pair([](Pair& pair) {
    pair.from_b->write("last words", kNever);
    pair.b.crash();
    IoStatus last{};
    EXPECT_EQ(read_all(*pair.from_a, last), "last words");
    EXPECT_EQ(last, IoStatus::eof);
    EXPECT_TRUE(pair.from_a->write("is anybody there", kNever).ok());
    pair.runtime.sleep_for(1ms);
    EXPECT_EQ(pair.from_a->write("no", kNever).status, IoStatus::reset);
    EXPECT_EQ(pair.a.network().connect({pair.b.address(), 6379}, kNever).status, IoStatus::refused);
    // What belongs to the dead answers `closed` to others.
    EXPECT_EQ(pair.from_b->write("x", kNever).status, IoStatus::closed);
    EXPECT_EQ(pair.b.network().connect({pair.a.address(), 1}, kNever).status, IoStatus::closed);
    EXPECT_THROW(pair.b.network().listen({"", 1}), std::system_error);

    Process& again = pair.world.add_process("b");
    const auto listener = again.network().listen({"", 6379});
    EXPECT_TRUE(pair.a.network().connect(listener->endpoint(), kNever).status == IoStatus::ok);
  });
}

TEST(SimNetwork, AKilledProcessThatDidNotReadResets) {
  with_pair([](Pair& pair) {
    pair.from_a->write("unread", kNever);
    pair.runtime.sleep_for(1ms);
    pair.b.crash();
    EXPECT_EQ(read_some(*pair.from_a).status, IoStatus::reset);
  });
}

TEST(SimNetwork, NothingLeavesAKilledProcess) {
  with_pair([](Pair& pair) {
    pair.b.start("talker", [&] {
      struct Talks {
        Stream& stream;
        ~Talks() { EXPECT_EQ(stream.write("from the grave", kNever).status, IoStatus::closed); }
      } const talks{*pair.from_b};
      pair.b.runtime().sleep_for(1h);
    });
    pair.runtime.sleep_for(1ms);
    pair.b.crash();
    IoStatus last{};
    EXPECT_EQ(read_all(*pair.from_a, last), "");
  });
}

TEST(SimNetwork, TheKernelOfAPausedProcessGoesOn) {
  with_pair([](Pair& pair) {
    std::string read;
    pair.b.start("reader", [&] {
      IoStatus last{};
      read = read_all(*pair.from_b, last);
    });
    pair.runtime.sleep_for(1ms);
    pair.b.pause();
    EXPECT_TRUE(pair.from_a->write("one ", kNever).ok());
    EXPECT_EQ(pair.a.network().connect(pair.listener->endpoint(), kNever).status, IoStatus::ok);
    pair.runtime.sleep_for(1s);
    pair.from_a->write("two", kNever);
    pair.from_a->close();
    pair.runtime.sleep_for(1s);
    EXPECT_EQ(read, "");
    pair.b.resume();
    pair.runtime.sleep_for(1ms);
    EXPECT_EQ(read, "one two");
  });
}

TEST(SimNetwork, PortsAndNames) {
  with_pair([](Pair& pair) {
    Network& network = pair.b.network();
    EXPECT_THROW(network.listen({"", 6379}), std::system_error);
    EXPECT_THROW(network.listen({pair.a.address(), 1}), std::system_error);
    const auto one = network.listen({"localhost", 0});
    const auto two = network.listen({pair.b.address(), 0});
    EXPECT_EQ(one->endpoint().host, pair.b.address());
    EXPECT_NE(one->endpoint().port, two->endpoint().port);
    const auto named = network.listen({"db.example", 1000});
    EXPECT_EQ(named->endpoint(), (Endpoint{"db.example", 1000}));
    EXPECT_THROW(pair.a.network().listen({"db.example", 1000}), std::system_error);
    const Connected connected = pair.a.network().connect({"db.example", 1000}, kNever);
    ASSERT_EQ(connected.status, IoStatus::ok);
    EXPECT_EQ(connected.stream->peer().host, pair.b.address());
    two->close();
    EXPECT_EQ(pair.a.network().connect(two->endpoint(), kNever).status, IoStatus::refused);
  });
}

TEST(SimNetwork, StreamsOutliveTheWorld) {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Listener> listener;
  with_pair([&](Pair& pair) {
    stream = std::move(pair.from_a);
    listener = std::move(pair.listener);
    stream->write("under way for ever", kNever);
  });
  stream->close();
  listener->close();
}

TEST(SimNetwork, ThePayloadIsInTheTrace) {
  const auto digest = [](const std::string& text) {
    std::uint64_t result = 0;
    with_pair([&](Pair& pair) {
      pair.from_a->write(text, kNever);
      read_some(*pair.from_b);
      result = pair.world.trace().digest();
    });
    return result;
  };
  EXPECT_EQ(digest("one"), digest("one"));
  EXPECT_NE(digest("one"), digest("two"));
}

TEST(SimNetwork, AFirstPacketThatIsLostIsSentAgain) {
  with_pair([](Pair& pair) {
    auto& doorway = dynamic_cast<Doorway&>(*pair.listener);
    Knock knock = Knock::lose;
    std::vector<std::int64_t> came_ms;
    const std::int64_t start = pair.world.now_ns();
    doorway.screen([&](const std::string& address) {
      EXPECT_EQ(address, pair.a.address());
      came_ms.push_back((pair.world.now_ns() - start) / 1'000'000);
      return knock;
    });
    EXPECT_EQ(pair.a.network().connect(pair.listener->endpoint(), pair.a_in(10s)).status,
              IoStatus::timed_out);
    EXPECT_EQ(came_ms, (std::vector<std::int64_t>{0, 1000, 3000, 7000}));
    EXPECT_EQ(pair.a.network().connect(pair.listener->endpoint(), kNever).status, IoStatus::timed_out);
    EXPECT_EQ(came_ms.size(), 4u + 7u) << "nobody tries for ever";

    pair.a.start("connects", [&] {
      const MonotonicTime before = pair.a.runtime().now();
      EXPECT_EQ(pair.a.network().connect(pair.listener->endpoint(), pair.a_in(10s)).status, IoStatus::ok);
      EXPECT_EQ((pair.a.runtime().now() - before) / 1s, 3) << "by the try that found the way free";
    });
    pair.runtime.sleep_for(2s);
    knock = Knock::let_in;
    EXPECT_EQ(pair.listener->accept(pair.b_in(5s)).status, IoStatus::ok);
    knock = Knock::refuse;
    const MonotonicTime before = pair.a.runtime().now();
    EXPECT_EQ(pair.a.network().connect(pair.listener->endpoint(), kNever).status, IoStatus::refused);
    EXPECT_EQ(pair.a.runtime().now() - before, 2 * kHop);
  });
}

}  // namespace
}  // namespace holdfast::sim
