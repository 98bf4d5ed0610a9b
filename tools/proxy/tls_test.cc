// TLS through the proxy: passed on as it is, and ended on both sides, so that toxics see commands.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/testing/server/certificates.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "lib/tls/tls_network.h"
#include "sim/proxy/testing/rig.h"
#include "sim/world/world.h"
#include "tools/proxy/control.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::Certificate;
using testing::CertificateAuthority;

// A redis-server that speaks TLS, the proxy in front of it, and a client.
class ProxyAndTls : public ::testing::Test {
 protected:
  void run(bool ends_tls, const std::function<void()>& body) {
    const auto world = sim::make_real_world({.seed = 7});
    world->run([&] {
      sim::Process& process = world->harness();
      const TemporaryFolder folder;
      const CertificateAuthority ca(folder.path(), "ca"), proxys(folder.path(), "proxys");
      const Certificate server = ca.issue({.name = "redis", .hosts = {"redis.test"}});
      const Certificate own = proxys.issue({.name = "proxy", .hosts = {"redis.test"}});
      SocketNetwork sockets(process.runtime());
      const Endpoint upstream = {"127.0.0.1", choose_port(sockets, "127.0.0.1")};
      RedisProcess redis(process.runtime(), sockets,
                         {.folder = folder.path() + "/redis",
                          .settings = {"--tls-port", std::to_string(upstream.port), "--tls-cert-file",
                                       server.certificate_file, "--tls-key-file", server.key_file,
                                       "--tls-ca-cert-file", ca.file(), "--tls-auth-clients", "no"}});
      redis.start();
      TlsNetwork dials(process.runtime(), sockets, {.ca_file = ca.file(), .server_name = "redis.test"});
      TlsNetwork guests(process.runtime(), sockets,
                        {.certificate_file = own.certificate_file, .key_file = own.key_file});
      ProxyControl control(*world, process, ends_tls ? static_cast<Network&>(dials) : sockets, 7, false,
                           nullptr, ends_tls ? &guests : nullptr);
      control_ = &control;
      at_ = read_endpoint(control.create("redis", "127.0.0.1:0", upstream.to_string(), true, true));
      client_ = &world->add_process("c1");
      authority_ = ends_tls ? proxys.file() : ca.file();
      sim::testing::on(*world, *client_, body);
    });
  }

  std::unique_ptr<redis::Client> client(TlsOptions tls) {
    redis::ClientOptions options{.nodes = {{"", at_}}, .tls = std::move(tls)};
    options.connect_timeout = 10s;
    options.command_timeout = 20s;
    return std::make_unique<redis::Client>(client_->runtime(), client_->network(), options);
  }
  TlsOptions trusting() const { return {.ca_file = authority_, .server_name = "redis.test"}; }
  int toxic(const json& body) {
    return control_
        ->handle({.method = "POST", .target = "/proxies/redis/toxics", .user_agent = "", .body = body.dump()})
        .status;
  }

  ProxyControl* control_ = nullptr;
  sim::Process* client_ = nullptr;
  Endpoint at_;
  std::string authority_;
};

const json kDropSecondSet = {
    {"type", "redis"},
    {"stream", "downstream"},
    {"attributes", {{"command", "SET"}, {"nth", 2}, {"count", 1}, {"action", "reset"}}}};

// The toxic sees no command in what is encrypted, and the certificate is the server's own.
TEST_F(ProxyAndTls, PassesAsItIs) {
  run(false, [&] {
    const auto redis = client(trusting());
    EXPECT_EQ(toxic(kDropSecondSet), 200);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(redis->call({"SET", "k", std::to_string(i)}).reply.text, "OK");
    EXPECT_EQ(toxic({{"type", "limit_data"}, {"stream", "downstream"}, {"attributes", {{"bytes", 10}}}}),
              200);
    EXPECT_THROW(redis->call({"GET", "k"}, {.deadline = client_->runtime().now() + 2s}), redis::Error);
  });
}

TEST_F(ProxyAndTls, EndedByTheProxyToxicsSeeCommands) {
  run(true, [&] {
    const auto redis = client(trusting());
    EXPECT_EQ(toxic(kDropSecondSet), 200);
    EXPECT_EQ(redis->call({"SET", "k", "1"}).reply.text, "OK");
    try {
      redis->call({"SET", "k", "2"});
      ADD_FAILURE() << "the answer to the second SET was let through";
    } catch (const redis::Error& error) {
      EXPECT_EQ(error.kind(), redis::Error::Kind::disconnected) << error.what();
      EXPECT_TRUE(error.may_have_executed());
    }
    EXPECT_EQ(redis->call({"GET", "k"}).reply.text, "2");
  });
}

TEST_F(ProxyAndTls, ItsCertificateIsItsOwn) {
  run(true, [&] {
    TlsOptions other = trusting();
    other.server_name = "other.test";
    try {
      client(other)->call({"PING"});
      ADD_FAILURE() << "a certificate for another name was believed";
    } catch (const redis::Error& error) {
      EXPECT_EQ(error.kind(), redis::Error::Kind::untrusted);
      EXPECT_NE(std::string(error.what()).find("(CN=proxy) is for redis.test and not for other.test"),
                std::string::npos)
          << error.what();
    }
  });
}

}  // namespace
}  // namespace holdfast::tools
