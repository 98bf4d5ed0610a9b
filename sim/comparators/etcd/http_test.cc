// HTTP as etcd's gateway speaks it, by a server that says what the test wants, cut where the test wants.
#include "sim/comparators/etcd/http.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/comparators/etcd/client.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim::etcd {
namespace {

using namespace std::chrono_literals;

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
std::string whole(const std::string& body) {
  return kHead + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A server that answers each request by the next of `says`, in pieces of that many bytes, or, for "", ends
// the connection. Its requests so far.
class Server {
 public:
  Server(Process& harness, std::vector<std::string> says, std::size_t piece = 1 << 20)
      : harness_(harness),
        says_(std::move(says)),
        piece_(piece),
        listener_(harness.network().listen({harness.address(), 0})),
        task_(harness.runtime().spawn("server", [this] { serve(); })) {}
  ~Server() { listener_->close(); }
  redis::Node node(const std::string& name) const { return {name, listener_->endpoint()}; }
  Endpoint endpoint() const { return listener_->endpoint(); }
  std::string asked;
  int connections = 0;

 private:
  void serve() {
    for (;;) {
      Connected guest = listener_->accept(kNever);
      if (guest.status != IoStatus::ok) return;
      ++connections;
      std::array<char, 4096> buffer;
      std::string request;
      while (next_ < says_.size()) {
        const IoResult got = guest.stream->read(buffer, kNever);
        if (!got.ok()) break;
        request.append(buffer.data(), got.bytes);
        if (!request.ends_with("}")) continue;
        asked += request;
        request.clear();
        const std::string& answer = says_[next_++];
        if (answer.empty()) break;
        for (std::size_t at = 0; at < answer.size(); at += piece_) {
          if (!guest.stream->write(std::string_view(answer).substr(at, piece_), kNever).ok()) break;
          if (piece_ < answer.size()) harness_.runtime().sleep_for(100us);
        }
      }
    }
  }

  Process& harness_;
  const std::vector<std::string> says_;
  const std::size_t piece_;
  std::size_t next_ = 0;
  const std::unique_ptr<Listener> listener_;
  Task task_;  // joined first
};

void in_world(const std::function<void(Process& harness)>& body) {
  const auto world = testing::make_world(testing::Kind::real);
  world->run([&] { body(world->harness()); });
}

MonotonicTime soon(Process& harness) { return deadline_after(harness.runtime().now(), 1min); }

const std::string kChunked =
    kHead + "Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\nT: x\r\n\r\n";

TEST(EtcdHttp, AnAnswerComesWholeHoweverItIsCut) {
  in_world([](Process& harness) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
      Server server(harness, {whole("{\"b\":2}"), kChunked, whole("{}")}, piece);
      HttpConnection connection(harness.runtime(), harness.network(), server.endpoint(), soon(harness));
      EXPECT_EQ(connection.post("/v3/x", "{}", soon(harness)).body, "{\"b\":2}");
      EXPECT_EQ(connection.post("/v3/x", "{}", soon(harness)).body, "{\"a\":1}");
      EXPECT_EQ(connection.post("/v3/y", "{}", soon(harness)).status, 200U);
      EXPECT_TRUE(connection.open());
      EXPECT_EQ(server.connections, 1);
      EXPECT_NE(server.asked.find("POST /v3/y HTTP/1.1\r\n"), std::string::npos) << server.asked;
    }
  });
}

TEST(EtcdHttp, NoAnswerIsSaidAndEndsTheConnection) {
  in_world([](Process& harness) {
    const std::string cut = whole("{\"b\":2}");
    for (const std::string& says : {std::string("SSH-2.0-x\r\n\r\n"), std::string()}) {
      Server server(harness, {says});
      HttpConnection connection(harness.runtime(), harness.network(), server.endpoint(), soon(harness));
      try {
        connection.post("/v3/x", "{}", soon(harness));
        ADD_FAILURE() << says;
      } catch (const NoAnswer& error) {
        EXPECT_TRUE(error.may_have_executed());
      }
      EXPECT_FALSE(connection.open());
      EXPECT_THROW(connection.post("/v3/x", "{}", soon(harness)), NoAnswer);
    }
    Server silent(harness, {cut.substr(0, cut.size() - 2)});
    HttpConnection connection(harness.runtime(), harness.network(), silent.endpoint(), soon(harness));
    std::stop_source stop;
    Task stopper = harness.runtime().spawn("stopper", [&] {
      harness.runtime().sleep_for(30ms);
      stop.request_stop();
    });
    EXPECT_THROW(connection.post("/v3/x", "{}", kNever, stop.get_token()), NoAnswer);
    EXPECT_FALSE(connection.open());
  });
}

TEST(EtcdHttp, LinesComeOneByOne) {
  in_world([](Process& harness) {
    const std::string stream =
        kHead + "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"1\"}\n\r\n4\r\n{\"2\"\r\n8\r\n}\n{\"3\"}\n\r\n";
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 20}) {
      Server server(harness, {stream}, piece);
      HttpConnection connection(harness.runtime(), harness.network(), server.endpoint(), soon(harness));
      std::vector<std::string> lines;
      connection.post_and_listen("/v3/watch", "{}", soon(harness), {}, [&lines](std::string_view line) {
        lines.emplace_back(line);
        return lines.size() < 3;
      });
      EXPECT_EQ(lines, (std::vector<std::string>{"{\"1\"}", "{\"2\"}", "{\"3\"}"}));
      EXPECT_FALSE(connection.open());
    }
  });
}

TEST(EtcdClient, TurnsToAnotherMember) {
  in_world([](Process& harness) {
    const std::string no_leader =
        "{\"error\":\"etcdserver: no leader\",\"message\":\"etcdserver: no leader\",\"code\":14}";
    const std::string unavailable =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: " + std::to_string(no_leader.size()) +
        "\r\n\r\n" + no_leader;
    Server first(harness, {unavailable}), second(harness, {""}), third(harness, {whole("{\"n\":\"7\"}")});
    Client client(harness.runtime(), {first.node("r1"), second.node("r2"), third.node("r3")}, 1s, 30s);
    const Answer answer = client.ask("/v3/x", Json::object(), client.limit());
    EXPECT_EQ(number_at(answer.body, "n"), 7);
    EXPECT_EQ(number_at(answer.body, "m"), 0);
    EXPECT_EQ(answer.node, "r3");
    EXPECT_TRUE(answer.again);  // who ended the connection may have done it
  });
}

TEST(EtcdClient, TellsErrorsApart) {
  in_world([](Process& harness) {
    const auto error = [](int status, const std::string& body) {
      return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
             "\r\n\r\n" + body;
    };
    const std::pair<std::string, Error::Kind> kCases[] = {
        {error(404, R"({"message":"no lease","code":5})"), Error::Kind::not_found},
        {error(400, R"({"message":"no key","code":3})"), Error::Kind::refused},
        {whole(R"({"error":{"grpc_code":5,"http_code":404,"message":"no lease"}})"), Error::Kind::not_found}};
    for (const auto& [says, kind] : kCases) {
      Server server(harness, {says});
      Client client(harness.runtime(), {server.node("r1")}, 1s, 30s);
      try {
        client.ask("/v3/x", Json::object(), client.limit());
        ADD_FAILURE() << says;
      } catch (const Error& told) {
        EXPECT_EQ(told.kind(), kind) << says;
      }
    }
    Server dead(harness, {});
    Client client(harness.runtime(), {dead.node("r1")}, 1s, 30s);
    EXPECT_THROW(client.ask("/v3/x", Json::object(), deadline_after(harness.runtime().now(), 50ms)), Error);
  });
}

TEST(EtcdClient, Base64) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("k/a"), "ay9h");
  EXPECT_EQ(to_base64("ab"), "YWI=");
}

}  // namespace
}  // namespace holdfast::sim::etcd
