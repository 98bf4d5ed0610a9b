// What every Network promises, case by case, on every implementation: sockets on threads, simulated links,
// sockets on an event loop; and TLS over each of them.
//
// Waits are bounded by generous deadlines that a sound implementation never reaches; nothing is measured.
#include "lib/net/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "lib/testing/ports.h"
#include "lib/testing/server/certificates.h"
#include "lib/testing/server/temporary_folder.h"
#include "lib/tls/tls_network.h"
#include "lib/tls/tls_stream.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Ports;

struct Implementation {
  Ports below;
  bool tls;
};

std::string name_of(const Implementation& one) { return to_string(one.below) + (one.tls ? "_tls" : ""); }

void PrintTo(const Implementation& one, std::ostream* out) { *out << name_of(one); }

std::vector<Implementation> implementations() {
  std::vector<Implementation> all;
  for (const bool tls : {false, true}) {
    for (const Ports below : holdfast::testing::everywhere()) all.push_back({below, tls});
  }
  return all;
}

// TLS both ways. Who accepts does the handshake at once, so that whoever connects need not wait for its first
// read.
class Encrypted final : public Network {
 public:
  Encrypted(Runtime& runtime, Network& below, const TlsOptions& options)
      : network_(runtime, below, options) {}
  Connected connect(const Endpoint& to, MonotonicTime deadline) override {
    return network_.connect(to, deadline);
  }
  std::unique_ptr<Listener> listen(const Endpoint& at) override {
    return std::make_unique<Greeting>(network_.listen(at));
  }

 private:
  class Greeting final : public Listener {
   public:
    explicit Greeting(std::unique_ptr<Listener> below) : below_(std::move(below)) {}
    Connected accept(MonotonicTime deadline) override {
      Connected accepted = below_->accept(deadline);
      if (accepted.stream) dynamic_cast<tls::TlsStream&>(*accepted.stream).handshake(deadline);
      return accepted;
    }
    Endpoint endpoint() const override { return below_->endpoint(); }
    void close() noexcept override { below_->close(); }

   private:
    const std::unique_ptr<Listener> below_;
  };
  TlsNetwork network_;
};

class NetworkConformance : public ::testing::TestWithParam<Implementation> {
 protected:
  void on(const std::function<void(Runtime&, Network&)>& body) {
    redis::testing::on_ports(GetParam().below, [&](Runtime& runtime, Network& network) {
      if (!GetParam().tls) return body(runtime, network);
      const TemporaryFolder folder;
      const holdfast::testing::CertificateAuthority ca(folder.path(), "ca");
      const auto own = ca.issue({.hosts = {"peer.test"}});
      Encrypted encrypted(runtime, network,
                          {.ca_file = ca.file(),
                           .certificate_file = own.certificate_file,
                           .key_file = own.key_file,
                           .server_name = "peer.test",
                           .demand_client_certificates = true});
      body(runtime, encrypted);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Implementations, NetworkConformance, ::testing::ValuesIn(implementations()),
                         [](const auto& info) { return name_of(info.param); });

MonotonicTime soon(Runtime& runtime) { return runtime.now() + 60s; }

// More than any implementation takes while nobody reads. Never touched, so it costs nothing but address
// space.
class Much {
 public:
  std::string_view bytes() const { return {memory_.get(), kSize}; }

 private:
  static constexpr std::size_t kSize = 64'000'000;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_{static_cast<char*>(std::calloc(kSize, 1))};
};

// --- streams --------------------------------------------------------------------------------------------

struct Pair {
  std::unique_ptr<Stream> here, there;
};

Pair connected(Runtime& runtime, Network& network) {
  const auto listener = network.listen({"", 0});
  Pair pair;
  Task task = runtime.spawn("acceptor", [&] { pair.there = listener->accept(soon(runtime)).stream; });
  Connected out = network.connect(listener->endpoint(), soon(runtime));
  EXPECT_EQ(out.status, IoStatus::ok);
  pair.here = std::move(out.stream);
  task.join();
  EXPECT_NE(pair.there, nullptr);
  return pair;
}

std::string read_all(Runtime& runtime, Stream& stream, std::size_t size) {
  std::string text;
  std::vector<char> buffer(std::min<std::size_t>(size, 65536));
  while (text.size() < size) {
    const IoResult got = stream.read(buffer, soon(runtime));
    if (!got.ok()) break;
    text.append(buffer.data(), got.bytes);
  }
  return text;
}

TEST_P(NetworkConformance, BytesArriveInOrderBothWays) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    EXPECT_TRUE(pair.here->write("hello", soon(runtime)).ok());
    EXPECT_TRUE(pair.here->write(" world", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.there, 11), "hello world");
    EXPECT_TRUE(pair.there->write("back", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.here, 4), "back");
    EXPECT_EQ(pair.here->peer(), pair.there->local());
    EXPECT_EQ(pair.here->local(), pair.there->peer());
  });
}

TEST_P(NetworkConformance, LargeTransfersArriveWhole) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    std::string sent(1'000'000, ' ');
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
    Task writer = runtime.spawn("writer", [&] { EXPECT_TRUE(pair.here->write(sent, soon(runtime)).ok()); });
    EXPECT_EQ(read_all(runtime, *pair.there, sent.size()), sent);
    writer.join();
  });
}

TEST_P(NetworkConformance, AWriteNobodyReadsTimesOutAndSaysHowFarItCame) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    const Much much;
    const IoResult result = pair.here->write(much.bytes(), runtime.now() + 20ms);
    EXPECT_EQ(result.status, IoStatus::timed_out);
    EXPECT_GT(result.bytes, 0u);
    EXPECT_LT(result.bytes, much.bytes().size());
  });
}

TEST_P(NetworkConformance, HalfClose) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    pair.here->write("last words", soon(runtime));
    pair.here->finish_writing();
    EXPECT_EQ(read_all(runtime, *pair.there, 10), "last words");
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
    EXPECT_TRUE(pair.there->write("answer", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.here, 6), "answer");
  });
}

TEST_P(NetworkConformance, CloseIsEofForThePeerAndClosedHere) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    pair.here->close();
    pair.here->close();
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
    EXPECT_EQ(pair.here->read({&byte, 1}, soon(runtime)).status, IoStatus::closed);
    EXPECT_EQ(pair.here->write("x", soon(runtime)).status, IoStatus::closed);
  });
}

TEST_P(NetworkConformance, CloseWakesAReaderOfTheSameSide) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    IoStatus status = IoStatus::ok;
    Task reader = runtime.spawn("reader", [&] {
      char byte = 0;
      status = pair.here->read({&byte, 1}, soon(runtime)).status;
    });
    runtime.sleep_for(2ms);
    pair.here->close();
    reader.join();
    EXPECT_EQ(status, IoStatus::closed);
  });
}

TEST_P(NetworkConformance, ResetReachesThePeerAndWakesIt) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    IoStatus status = IoStatus::ok;
    Task reader = runtime.spawn("reader", [&] {
      char byte = 0;
      status = pair.there->read({&byte, 1}, soon(runtime)).status;
    });
    runtime.sleep_for(2ms);
    pair.here->reset();
    reader.join();
    EXPECT_EQ(status, IoStatus::reset);
    char byte = 0;
    EXPECT_EQ(pair.here->read({&byte, 1}, soon(runtime)).status, IoStatus::closed);
    EXPECT_NE(pair.there->write("x", soon(runtime)).status, IoStatus::ok);
  });
}

TEST_P(NetworkConformance, ReadTimesOutAndTheStreamGoesOn) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    char byte = 0;
    EXPECT_EQ(pair.here->read({&byte, 1}, runtime.now() + 2ms).status, IoStatus::timed_out);
    EXPECT_EQ(pair.here->read({&byte, 1}, runtime.now() - 1s).status, IoStatus::timed_out);
    pair.there->write("x", soon(runtime));
    EXPECT_EQ(read_all(runtime, *pair.here, 1), "x");
  });
}

// An implementation may guess from reads that leave room whether more is there: it must not matter.
TEST_P(NetworkConformance, ReadsThatLeaveRoomGoOn) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    Task echo = runtime.spawn("echo", [&] {
      char buffer[64];
      for (;;) {
        const IoResult got = pair.there->read(buffer, soon(runtime));
        if (!got.ok()) return;
        pair.there->write({buffer, got.bytes}, soon(runtime));
      }
    });
    char buffer[64];
    for (int i = 0; i < 100; ++i) {
      const std::string sent(static_cast<std::size_t>(1 + i % 64), static_cast<char>('a' + i % 26));
      pair.here->write(sent, soon(runtime));
      EXPECT_EQ(read_all(runtime, *pair.here, sent.size()), sent);
      if (i % 7 == 0) {
        EXPECT_EQ(pair.here->read(buffer, runtime.now() + 1ms).status, IoStatus::timed_out);
        EXPECT_EQ(pair.here->read(buffer, runtime.now() - 1s).status, IoStatus::timed_out);
      }
    }
    pair.here->finish_writing();
    echo.join();
    pair.there->write("xyz", soon(runtime));
    pair.there->finish_writing();
    EXPECT_EQ(read_all(runtime, *pair.here, 4), "xyz");
    EXPECT_EQ(pair.here->read(buffer, soon(runtime)).status, IoStatus::eof);
  });
}

TEST_P(NetworkConformance, NobodyListensThere) {
  on([](Runtime& runtime, Network& network) {
    Endpoint endpoint;
    {
      const auto listener = network.listen({"", 0});
      endpoint = listener->endpoint();
    }
    const Connected connected = network.connect(endpoint, soon(runtime));
    EXPECT_EQ(connected.status, IoStatus::refused);
    EXPECT_EQ(connected.stream, nullptr);
  });
}

TEST_P(NetworkConformance, AHostThatDoesNotExistIsUnreachable) {
  on([](Runtime& runtime, Network& network) {
    // Longer than a label of a name may be: no name server is asked.
    const Connected connected = network.connect({std::string(70, 'x') + ".invalid", 7000}, soon(runtime));
    EXPECT_EQ(connected.status, IoStatus::unreachable);
    EXPECT_EQ(connected.stream, nullptr);
  });
}

TEST_P(NetworkConformance, ListenersChoosePortsTimeOutAndClose) {
  on([](Runtime& runtime, Network& network) {
    const auto first = network.listen({"", 0});
    const auto second = network.listen({"", 0});
    EXPECT_NE(first->endpoint().port, 0);
    EXPECT_NE(first->endpoint(), second->endpoint());
    EXPECT_THROW(network.listen(first->endpoint()), std::system_error);
    EXPECT_EQ(first->accept(runtime.now() + 2ms).status, IoStatus::timed_out);
    IoStatus status = IoStatus::ok;
    Task acceptor = runtime.spawn("acceptor", [&] { status = first->accept(soon(runtime)).status; });
    runtime.sleep_for(2ms);
    first->close();
    acceptor.join();
    EXPECT_EQ(status, IoStatus::closed);
  });
}

TEST_P(NetworkConformance, ManyConnectionsAtOnce) {
  on([](Runtime& runtime, Network& network) {
    constexpr int kConnections = 100;
    const auto listener = network.listen({"", 0});
    std::vector<Task> servers, clients;
    std::atomic<int> answered = 0;
    Task acceptor = runtime.spawn("acceptor", [&] {
      for (int i = 0; i < kConnections; ++i) {
        const std::shared_ptr<Stream> stream = listener->accept(soon(runtime)).stream;
        servers.push_back(runtime.spawn("server", [&runtime, stream] {
          const std::string text = read_all(runtime, *stream, 8);
          stream->write(text, soon(runtime));
          char byte = 0;
          EXPECT_EQ(stream->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
        }));
      }
    });
    for (int i = 0; i < kConnections; ++i) {
      clients.push_back(runtime.spawn("client", [&, i] {
        const auto stream = network.connect(listener->endpoint(), soon(runtime)).stream;
        ASSERT_NE(stream, nullptr);
        const std::string text = std::to_string(10'000'000 + i);
        stream->write(text, soon(runtime));
        if (read_all(runtime, *stream, 8) == text) ++answered;
      }));
    }
    clients.clear();
    acceptor.join();
    servers.clear();
    EXPECT_EQ(answered, kConnections);
  });
}

TEST_P(NetworkConformance, WhatWasWrittenBeforeCloseArrives) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    const std::string text(50'000, 'x');
    EXPECT_TRUE(pair.here->write(text, soon(runtime)).ok());
    pair.here->close();
    EXPECT_EQ(read_all(runtime, *pair.there, text.size()), text);
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);  // and stays so
  });
}

TEST_P(NetworkConformance, ADestroyedStreamIsClosed) {
  on([](Runtime& runtime, Network& network) {
    Pair pair = connected(runtime, network);
    pair.here.reset();
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
  });
}

TEST_P(NetworkConformance, CloseAndResetWakeAWriterOfTheSameSide) {
  on([](Runtime& runtime, Network& network) {
    for (const bool reset : {false, true}) {
      const Pair pair = connected(runtime, network);
      const Much much;
      IoResult result;
      Task writer = runtime.spawn("writer", [&] { result = pair.here->write(much.bytes(), soon(runtime)); });
      runtime.sleep_for(5ms);
      if (reset) {
        pair.here->reset();
      } else {
        pair.here->close();
      }
      writer.join();
      EXPECT_EQ(result.status, IoStatus::closed) << (reset ? "reset" : "close");
      EXPECT_LT(result.bytes, much.bytes().size());
    }
  });
}

TEST_P(NetworkConformance, ResetWakesAWriterAtTheOtherSide) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    const Much much;
    IoResult result;
    Task writer = runtime.spawn("writer", [&] { result = pair.here->write(much.bytes(), soon(runtime)); });
    runtime.sleep_for(5ms);
    pair.there->reset();
    writer.join();
    EXPECT_EQ(result.status, IoStatus::reset);
  });
}

TEST_P(NetworkConformance, OneTaskReadsWhileAnotherWrites) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    const std::string text(500'000, 'x');
    std::vector<Task> tasks;
    std::atomic<int> whole = 0;
    for (Stream* side : {pair.here.get(), pair.there.get()}) {
      tasks.push_back(
          runtime.spawn("writer", [&, side] { EXPECT_TRUE(side->write(text, soon(runtime)).ok()); }));
      tasks.push_back(runtime.spawn("reader", [&, side] {
        if (read_all(runtime, *side, text.size()) == text) ++whole;
      }));
    }
    tasks.clear();
    EXPECT_EQ(whole, 2);
  });
}

// The connection exists before anybody accepts it, bytes in it included.
TEST_P(NetworkConformance, AConnectionMayBeUsedBeforeItIsAccepted) {
  if (GetParam().tls) GTEST_SKIP() << "over TLS a connection is there when both sides have greeted";
  on([](Runtime& runtime, Network& network) {
    const auto listener = network.listen({"", 0});
    const Connected out = network.connect(listener->endpoint(), soon(runtime));
    ASSERT_EQ(out.status, IoStatus::ok);
    EXPECT_TRUE(out.stream->write("early", soon(runtime)).ok());
    const Connected in = listener->accept(soon(runtime));
    ASSERT_EQ(in.status, IoStatus::ok);
    EXPECT_EQ(read_all(runtime, *in.stream, 5), "early");
    EXPECT_EQ(in.stream->local(), out.stream->peer());
    EXPECT_EQ(in.stream->local().port, listener->endpoint().port);
  });
}

TEST_P(NetworkConformance, WhoeverWasNeverAcceptedIsToldWhenTheListenerGoes) {
  if (GetParam().tls) GTEST_SKIP() << "over TLS a connection is there when both sides have greeted";
  on([](Runtime& runtime, Network& network) {
    auto listener = network.listen({"", 0});
    const Connected out = network.connect(listener->endpoint(), soon(runtime));
    ASSERT_EQ(out.status, IoStatus::ok);
    listener.reset();
    char byte = 0;
    const IoStatus status = out.stream->read({&byte, 1}, soon(runtime)).status;
    EXPECT_TRUE(status == IoStatus::reset || status == IoStatus::eof) << to_string(status);
  });
}

TEST_P(NetworkConformance, AClosedPortCanBeListenedAtAgain) {
  if (GetParam().tls) GTEST_SKIP() << "over TLS a connection is there when both sides have greeted";
  on([](Runtime& runtime, Network& network) {
    Endpoint endpoint;
    {
      const Pair pair = [&] {
        const auto listener = network.listen({"", 0});
        endpoint = listener->endpoint();
        Pair made;
        made.here = network.connect(endpoint, soon(runtime)).stream;
        made.there = listener->accept(soon(runtime)).stream;
        return made;
      }();
      pair.there->close();  // the listening side closes first: TIME_WAIT is at the port
      char byte = 0;
      pair.here->read({&byte, 1}, soon(runtime));
    }
    const auto again = network.listen(endpoint);
    EXPECT_EQ(again->endpoint(), endpoint);
    EXPECT_EQ(network.connect(endpoint, soon(runtime)).status, IoStatus::ok);
  });
}

}  // namespace
}  // namespace holdfast
