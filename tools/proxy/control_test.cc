// The API as its clients see it: over HTTP, with an echo behind the proxies. First what Toxiproxy's own
// documentation shows, then what is not in Toxiproxy.
#include "tools/proxy/control.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/net/socket_network.h"
#include "lib/runtime/runtime.h"
#include "sim/proxy/testing/rig.h"
#include "sim/world/world.h"
#include "tools/proxy/http.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using sim::testing::FakeServer;
using sim::testing::Wire;

struct Told {
  int status = 0;
  json body;
  std::string text;
};

// A world with a fake server, the API on a free port, and a client.
class ApiTest : public testing::Test {
 protected:
  void run(const std::function<void()>& body) {
    const auto world = sim::make_real_world({.seed = 7});
    world->run([&] {
      sim::Process& process = world->harness();
      SocketNetwork dials(process.runtime());
      FakeServer server(*world, "r1");
      server_ = &server;
      upstream_ = server.endpoint().to_string();
      client_ = &world->add_process("c1");
      ProxyControl control(*world, process, dials, 7, false);
      const auto listener = process.network().listen({"127.0.0.1", 0});
      api_ = listener->endpoint();
      process.start("api", [&] {
        serve_http(process, *listener, [&](const HttpRequest& request) { return control.handle(request); });
      });
      sim::testing::on(*world, *client_, body);
      listener->close();
    });
  }

  Told call(const std::string& method, const std::string& path, const std::string& body = "",
            const std::string& agent = "toxiproxy-cli") {
    Wire wire(*client_, api_);
    wire.patience = 5s;
    wire.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: " + agent +
              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    std::string all = wire.read(1 << 20);
    all = all.substr(0, all.rfind(" (end)"));
    const std::size_t blank = all.find("\r\n\r\n");
    if (all.size() < 12 || blank == std::string::npos) return {.status = 0, .body = {}, .text = all};
    Told told{.status = std::stoi(all.substr(9, 3)), .body = {}, .text = all.substr(blank + 4)};
    told.body = json::parse(told.text, nullptr, false);
    return told;
  }
  Told post(const std::string& path, const json& body) { return call("POST", path, body.dump()); }

  // A proxy in front of the fake server; returns where it listens.
  Endpoint make(const std::string& name = "redis", bool redis = false) {
    const Told told = post("/proxies", {{"name", name}, {"upstream", upstream_}, {"redis", redis}});
    EXPECT_EQ(told.status, 201) << told.text;
    return read_endpoint(told.body.at("listen"));
  }
  std::string ask(const Endpoint& at, const std::string& line) { return Wire(*client_, at).ask(line); }
  Duration time_of(const std::function<void()>& what) {
    const MonotonicTime start = client_->runtime().now();
    what();
    return client_->runtime().now() - start;
  }

  sim::Process* client_ = nullptr;
  FakeServer* server_ = nullptr;
  std::string upstream_;
  Endpoint api_;
};

TEST_F(ApiTest, AProxyIsMadeShownChangedAndRemoved) {
  run([&] {
    EXPECT_EQ(call("GET", "/version").body, json({{"version", "2.9.0"}}));
    EXPECT_EQ(call("GET", "/proxies").body, json::object());
    const Endpoint at = make("redis");
    EXPECT_EQ(ask(at, "echo hello"), "+hello");
    json shown = {{"name", "redis"}, {"listen", at.to_string()}, {"upstream", upstream_},
                  {"enabled", true}, {"redis", false},           {"toxics", json::array()}};
    EXPECT_EQ(call("GET", "/proxies/redis").body, shown);
    EXPECT_EQ(call("GET", "/proxies").body, json({{"redis", shown}}));
    Wire open(*client_, at);
    EXPECT_EQ(open.ask("echo a"), "+a");
    shown["enabled"] = false;
    EXPECT_EQ(call("PATCH", "/proxies/redis", R"({"enabled": false})").body, shown);
    EXPECT_EQ(open.read(1), "(end)") << "connections of a proxy that is disabled are closed";
    EXPECT_NE(Wire(*client_, at).connected(), IoStatus::ok);
    EXPECT_EQ(call("POST", "/proxies/redis", R"({"enabled": true})").status, 200);
    EXPECT_EQ(ask(at, "echo again"), "+again");
    EXPECT_EQ(call("DELETE", "/proxies/redis").status, 204);
    EXPECT_NE(Wire(*client_, at).connected(), IoStatus::ok);
    EXPECT_EQ(call("GET", "/proxies/redis").body, json({{"error", "proxy not found"}, {"status", 404}}));
  });
}

TEST_F(ApiTest, ErrorsAreThoseOfToxiproxy) {
  run([&] {
    make("redis");
    const auto error = [](const char* text, int status) {
      return json({{"error", text}, {"status", status}});
    };
    EXPECT_EQ(post("/proxies", {{"upstream", upstream_}}).body, error("missing required field: name", 400));
    EXPECT_EQ(post("/proxies", {{"name", "x"}}).body, error("missing required field: upstream", 400));
    EXPECT_EQ(post("/proxies", {{"name", "redis"}, {"upstream", upstream_}}).body,
              error("proxy already exists", 409));
    EXPECT_EQ(call("POST", "/proxies", "{").status, 400);
    EXPECT_EQ(call("POST", "/proxies", R"({"name": 3})").body,
              error("bad request body: `name` is a text", 400));
    const std::string toxics = "/proxies/redis/toxics";
    EXPECT_EQ(post(toxics, {{"type", "poison"}}).body, error("invalid toxic type", 400));
    EXPECT_EQ(post(toxics, {{"type", "latency"}, {"stream", "side"}}).body,
              error("stream was invalid, can be either upstream or downstream", 400));
    EXPECT_EQ(post(toxics, {{"type", "latency"}}).status, 200);
    EXPECT_EQ(post(toxics, {{"type", "latency"}}).body, error("toxic already exists", 409));
    EXPECT_EQ(call("DELETE", toxics + "/none").body, error("toxic not found", 404));
    EXPECT_EQ(post(toxics, {{"type", "latency"}, {"name", "y"}, {"attributes", {{"latency", "1s"}}}}).body,
              error("bad request body: `latency` is a whole number", 400));
    EXPECT_EQ(post("/proxies", {{"name", "x"}, {"upstream", upstream_}, {"listen", "0.0.0.0:0"}}).status,
              400);
    EXPECT_EQ(call("GET", "/nowhere").status, 404);
    EXPECT_EQ(call("GET", "/proxies", "", "Mozilla/5.0").status, 403);
    EXPECT_EQ(call("BAD LINE", "").status, 400);
  });
}

TEST_F(ApiTest, LatencyAndAResetComeAndGo) {
  run([&] {
    const Endpoint at = make();
    const std::string toxics = "/proxies/redis/toxics";
    const json latency = {{"name", "latency_downstream"},
                          {"type", "latency"},
                          {"stream", "downstream"},
                          {"toxicity", 1.0},
                          {"attributes", {{"latency", 120}, {"jitter", 10}}}};
    const Told made = post(toxics, {{"type", "latency"}, {"attributes", {{"latency", 120}, {"jitter", 10}}}});
    EXPECT_EQ(made.status, 200);
    EXPECT_EQ(made.body, latency);
    EXPECT_EQ(call("GET", toxics).body, json::array({latency}));
    EXPECT_EQ(call("GET", toxics + "/latency_downstream").body, latency);
    EXPECT_GE(time_of([&] { EXPECT_EQ(ask(at, "echo a"), "+a"); }), 110ms);
    EXPECT_EQ(
        call("POST", toxics + "/latency_downstream", R"({"attributes": {"latency": 60}})").body["attributes"],
        json({{"latency", 60}, {"jitter", 10}}));
    EXPECT_GE(time_of([&] { EXPECT_EQ(ask(at, "echo a"), "+a"); }), 50ms);
    EXPECT_EQ(post(toxics, {{"type", "reset_peer"}, {"stream", "upstream"}}).status, 200);
    EXPECT_EQ(ask(at, "echo a"), "(reset)");
    EXPECT_EQ(call("POST", "/reset").status, 204);
    EXPECT_EQ(call("GET", toxics).body, json::array());
    EXPECT_EQ(ask(at, "echo a"), "+a");
  });
}

TEST_F(ApiTest, TimeoutLimitSliceAndBandwidth) {
  run([&] {
    const Endpoint at = make();
    const std::string toxics = "/proxies/redis/toxics";
    EXPECT_EQ(post(toxics, {{"type", "timeout"}, {"attributes", {{"timeout", 80}}}}).status, 200);
    EXPECT_EQ(ask(at, "echo a"), "(end)") << "nothing came, then the connection was closed";
    EXPECT_EQ(call("PATCH", toxics + "/timeout_downstream", R"({"attributes": {"timeout": 0}})").status, 200);
    Wire waits(*client_, at);
    EXPECT_EQ(waits.ask("echo a"), "(silence)");
    EXPECT_EQ(call("DELETE", toxics + "/timeout_downstream").status, 204);
    EXPECT_EQ(waits.read(1), "(end)");

    EXPECT_EQ(post(toxics, {{"type", "limit_data"}, {"attributes", {{"bytes", 6}}}}).status, 200);
    Wire limited(*client_, at);
    limited.send("echo abcdefgh\r\n");
    EXPECT_EQ(limited.read(20), "+abcde (end)");
    EXPECT_EQ(call("DELETE", toxics + "/limit_data_downstream").status, 204);

    const json slices = {{"average_size", 2}, {"size_variation", 1}, {"delay", 20000}};
    EXPECT_EQ(post(toxics, {{"type", "slicer"}, {"attributes", slices}}).status, 200);
    EXPECT_GE(time_of([&] {
                Wire wire(*client_, at);
                wire.patience = 5s;
                EXPECT_EQ(wire.ask("echo 0123456789abcdef"), "+0123456789abcdef");
              }),
              5 * 20ms);
    const json even = {{"attributes", {{"size_variation", 0}}}};
    EXPECT_EQ(post(toxics + "/slicer_downstream", even).status, 200);
    EXPECT_GE(time_of([&] {
                Wire wire(*client_, at);
                wire.patience = 5s;
                wire.send("echo 0123456789\r\n");
                EXPECT_EQ(wire.read(2), "+0");  // the rest is on its way
                wire.send("echo 0123456789\r\n");
                EXPECT_EQ(wire.read_line(2), "123456789+0123456789");
              }),
              12 * 20ms)
        << "fourteen pieces, though the second seven were read by themselves";
    EXPECT_EQ(call("DELETE", toxics + "/slicer_downstream").status, 204);

    EXPECT_EQ(post(toxics, {{"type", "bandwidth"}, {"attributes", {{"rate", 100}}}}).status, 200);
    EXPECT_GE(time_of([&] {
                Wire wire(*client_, at);
                wire.patience = 5s;
                const std::string large(20000, 'x');
                EXPECT_EQ(wire.ask("echo " + large), "+" + large);
              }),
              190ms);
  });
}

TEST_F(ApiTest, SlowCloseToxicityAndAMissingUpstream) {
  run([&] {
    const Endpoint at = make();
    const std::string toxics = "/proxies/redis/toxics";
    EXPECT_EQ(post(toxics, {{"type", "slow_close"}, {"attributes", {{"delay", 150}}}}).status, 200);
    Wire wire(*client_, at);
    EXPECT_EQ(wire.ask("echo a"), "+a");
    wire.patience = 5s;
    EXPECT_GE(time_of([&] {
                wire.stream().finish_writing();
                EXPECT_EQ(wire.read(1), "(end)");
              }),
              150ms);
    EXPECT_EQ(call("DELETE", toxics + "/slow_close_downstream").status, 204);
    EXPECT_EQ(post(toxics, {{"type", "reset_peer"}, {"toxicity", 0.5}}).status, 200);
    int resets = 0;
    for (int i = 0; i < 40; ++i) resets += ask(at, "echo a") == "(reset)" ? 1 : 0;
    EXPECT_GT(resets, 5);
    EXPECT_LT(resets, 35);
    EXPECT_EQ(call("POST", "/reset").status, 204);
    server_->process().crash();
    const std::string told = ask(at, "echo a");
    EXPECT_TRUE(told == "(end)" || told == "(reset)") << told;
  });
}

TEST_F(ApiTest, RulesOnCommandsKeysAndClientNames) {
  run([&] {
    const Endpoint at = make("redis", true);
    const std::string toxics = "/proxies/redis/toxics";
    Wire named(*client_, at), other(*client_, at);
    EXPECT_EQ(named.ask("client setname c1"), "+c1");
    EXPECT_EQ(other.ask("client setname c2"), "+c2");
    const json match = {{"command", "get"}, {"key", "lock:*"}, {"client", "c1"}, {"nth", 2}, {"count", 1}};
    json body = {{"type", "redis"}, {"stream", "upstream"}, {"attributes", match}};
    body["attributes"]["action"] = "error";
    body["attributes"]["error"] = "BUSY Redis is busy";
    EXPECT_EQ(post(toxics, body).status, 200);
    EXPECT_EQ(named.ask("get lock:1"), "+lock:1");
    EXPECT_EQ(named.ask("get other"), "+other");
    EXPECT_EQ(other.ask("get lock:1"), "+lock:1");
    named.ask("get lock:2");
    EXPECT_EQ(server_->commands().back(), "EVAL return redis.error_reply(ARGV[1]) 0 BUSY Redis is busy");
    EXPECT_EQ(named.ask("get lock:3"), "+lock:3");
    EXPECT_EQ(call("DELETE", toxics + "/redis_upstream").status, 204);

    const json drop = {{"command", "GET"}, {"action", "drop"}};
    EXPECT_EQ(post(toxics, {{"type", "redis"}, {"attributes", drop}}).status, 200);
    EXPECT_EQ(named.ask("get a"), "(silence)");
    EXPECT_EQ(named.ask("echo b"), "+b");
    EXPECT_EQ(
        post(toxics, {{"type", "redis"}, {"name", "x"}, {"attributes", {{"comand", "GET"}}}}).body,
        json({{"error", "bad request body: a redis toxic has no attribute `comand`"}, {"status", 400}}));
  });
}

TEST_F(ApiTest, TheTrafficIsCountedAndNothingOfItShown) {
  run([&] {
    const Endpoint at = make("redis", true);
    const auto clients = [&] { return call("GET", "/traffic").body["proxies"][0]["clients"]; };
    Wire wire(*client_, at);
    EXPECT_EQ(wire.ask("auth me hunter2"), "+hunter2");
    EXPECT_EQ(wire.ask("client setname worker"), "+worker");
    for (int i = 0; i < 3; ++i) wire.ask("set lock:1 secret-token");
    const json seen = clients();
    ASSERT_EQ(seen.size(), 2u) << "before it had a name, and with it: " << seen;
    const json& worker = seen[1];
    EXPECT_EQ(worker["name"], "worker");
    EXPECT_EQ(worker["connections"], 1);
    EXPECT_EQ(worker["commands"], 4);
    EXPECT_EQ(worker["in_flight"], 0);
    EXPECT_GE(worker["bytes"]["upstream"], 3 * 25);
    EXPECT_GE(worker["latency"].size(), 1u);

    const std::string cut = R"({"type": "redis", "attributes": {"command": "SET", "action": "drop"}})";
    EXPECT_EQ(call("POST", "/proxies/redis/toxics", cut).status, 200);
    EXPECT_EQ(wire.ask("set lock:1 secret-token"), "(silence)");
    EXPECT_EQ(clients()[1]["destroyed"], 1);
    EXPECT_EQ(
        call("GET", "/traffic").body["proxies"][0]["toxics"],
        json::array(
            {{{"name", "redis_downstream"}, {"type", "redis"}, {"stream", "downstream"}, {"hits", 1}}}));

    EXPECT_FALSE(call("GET", "/traffic").body.contains("keys"));
    EXPECT_EQ(call("GET", "/traffic?keys=true").body["keys"], json::array()) << "counted from now on";
    wire.ask("get lock:2");
    wire.ask("get lock:2");
    wire.ask("auth me hunter2");
    EXPECT_EQ(call("GET", "/traffic?keys=true").body["keys"],
              json::array({{{"key", "lock:2"}, {"commands", 2}}}));
    for (const char* path : {"/traffic", "/traffic?keys=true", "/metrics", "/proxies"}) {
      const std::string text = call("GET", path).text;
      for (const char* secret : {"hunter2", "secret-token"})
        EXPECT_EQ(text.find(secret), std::string::npos) << path << ": " << text;
    }
    EXPECT_EQ(call("POST", "/traffic").status, 405);
  });
}

TEST_F(ApiTest, TheTrafficOfAnotherProtocolIsCountedInBytes) {
  run([&] {
    const Endpoint at = make("any");
    EXPECT_EQ(ask(at, "echo a"), "+a");
    const json proxy = call("GET", "/traffic").body["proxies"][0];
    EXPECT_EQ(proxy["redis"], false);
    EXPECT_EQ(proxy["clients"][0]["commands"], 0);
    EXPECT_EQ(proxy["clients"][0]["bytes"], json({{"upstream", 8}, {"downstream", 4}}));
  });
}

TEST_F(ApiTest, PopulateMetricsAndTheEndOfAll) {
  run([&] {
    const json two = json::array({{{"name", "one"}, {"upstream", upstream_}, {"listen", "127.0.0.1:0"}},
                                  {{"name", "two"}, {"upstream", upstream_}, {"listen", "127.0.0.1:0"}}});
    const Told made = post("/populate", two);
    EXPECT_EQ(made.status, 201);
    ASSERT_EQ(made.body["proxies"].size(), 2u);
    const std::string listen = made.body["proxies"][0]["listen"];
    EXPECT_EQ(ask(read_endpoint(listen), "echo a"), "+a");
    const std::string metrics = call("GET", "/metrics").text;
    const std::string labels =
        "\",listener=\"" + listen + "\",proxy=\"one\",upstream=\"" + upstream_ + "\"} ";
    EXPECT_NE(metrics.find("toxiproxy_proxy_received_bytes_total{direction=\"upstream" + labels + "8\n"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find("toxiproxy_proxy_sent_bytes_total{direction=\"downstream" + labels + "4\n"),
              std::string::npos)
        << metrics;
    EXPECT_EQ(post("/populate", json::array({{{"name", "three"}}})).body,
              json({{"error", "missing required field: upstream at proxy 1"}, {"status", 400}}));
    EXPECT_EQ(call("DELETE", "/proxies").status, 204);
    EXPECT_EQ(call("GET", "/proxies").body, json::object());
  });
}

}  // namespace
}  // namespace holdfast::tools
