// TLS to a real redis-server and between two ends of our own: who is trusted, and what is said when
// somebody is not.
#include "lib/tls/tls_network.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lib/redis/client.h"
#include "lib/redis/url.h"
#include "lib/testing/ports.h"
#include "lib/testing/server/certificates.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Ports;
using ::testing::AllOf;
using testing::Certificate;
using testing::CertificateAuthority;
using ::testing::HasSubstr;
using ::testing::Not;

// --- the files ------------------------------------------------------------------------------------------

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const BadTls& error) {
    return error.what();
  }
  return "none";
}

TEST(TlsOptions, WhatCannotBeUsedIsSaid) {
  holdfast::testing::on_ports(Ports::threads, [](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca");
    const Certificate one = ca.issue({.name = "one"}), two = ca.issue({.name = "two"});
    const std::string text = folder.path() + "/text";
    std::ofstream(text) << "no PEM\n";
    const auto said = [&](const TlsOptions& options) {
      return refusal([&] { TlsNetwork(runtime, network, options); });
    };
    EXPECT_EQ(said({}), "none");
    EXPECT_EQ(
        said({.ca_file = ca.file(), .certificate_file = one.certificate_file, .key_file = one.key_file}),
        "none");
    EXPECT_THAT(said({.ca_file = "/no/such.pem"}), HasSubstr("ca_file: there is no file `/no/such.pem`"));
    EXPECT_THAT(said({.ca_file = text}), HasSubstr("has no certificate in PEM"));
    EXPECT_THAT(said({.ca_folder = text}), HasSubstr("ca_folder: there is no folder"));
    EXPECT_THAT(said({.certificate_file = one.certificate_file}), HasSubstr("belong together"));
    EXPECT_THAT(said({.certificate_file = text, .key_file = one.key_file}), HasSubstr("certificate_file: `"));
    EXPECT_THAT(said({.certificate_file = one.certificate_file, .key_file = text}),
                HasSubstr("has no key in PEM that can be read; if it has a password, set key_password"));
    EXPECT_THAT(said({.certificate_file = one.certificate_file, .key_file = two.key_file}),
                HasSubstr("is not the key of certificate_file"));
    EXPECT_THAT(said({.certificate_file = one.certificate_file, .key_file = one.key_file + "x"}),
                HasSubstr("key_file: there is no file"));
  });
}

TEST(TlsOptions, AKeyMayHaveAPassword) {
  holdfast::testing::on_ports(Ports::threads, [](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca");
    const Certificate one = ca.issue({.name = "one"});
    const std::string locked = folder.path() + "/locked.key";
    using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    const File from(std::fopen(one.key_file.c_str(), "r"), std::fclose);
    EVP_PKEY* const key = PEM_read_PrivateKey(from.get(), nullptr, nullptr, nullptr);
    ASSERT_NE(key, nullptr);
    std::string password = "open sesame";
    const File to(std::fopen(locked.c_str(), "w"), std::fclose);
    EXPECT_EQ(PEM_write_PrivateKey(to.get(), key, EVP_aes_256_cbc(), nullptr, 0, nullptr, password.data()),
              1);
    EVP_PKEY_free(key);
    std::fflush(to.get());
    const auto said = [&](const std::string& given) {
      return refusal([&] {
        TlsNetwork(runtime, network,
                   {.certificate_file = one.certificate_file, .key_file = locked, .key_password = given});
      });
    };
    EXPECT_EQ(said(password), "none");
    EXPECT_THAT(said("open barley"), HasSubstr("is key_password right?"));
    EXPECT_THAT(said(""), HasSubstr("if it has a password, set key_password"));
  });
}

// --- two ends of our own: every place --------------------------------------------------------------------

class Tls : public ::testing::TestWithParam<Ports> {
 protected:
  static void on(const std::function<void(Runtime&, Network&)>& body) {
    holdfast::testing::on_ports(GetParam(), body);
  }
};
INSTANTIATE_TEST_SUITE_P(Places, Tls, redis::testing::all_ports(),
                         [](const auto& info) { return to_string(info.param); });

// What a client of `client` meets at a server of `server`: "ok", or why not. It writes and reads, for a
// server may look at the client's certificate after the client is connected.
std::string meet(Runtime& runtime, Network& network, const TlsOptions& server, const TlsOptions& client) {
  TlsNetwork there(runtime, network, server), here(runtime, network, client);
  const auto listener = there.listen({"", 0});
  const MonotonicTime deadline = runtime.now() + 60s;
  const Task echo = runtime.spawn("echo", [&] {
    const Connected accepted = listener->accept(deadline);
    char byte = 0;
    if (accepted.stream->read({&byte, 1}, deadline).ok()) accepted.stream->write({&byte, 1}, deadline);
    while (accepted.stream->read({&byte, 1}, deadline).ok()) {
    }
  });
  const Connected connected = here.connect(listener->endpoint(), deadline);
  if (!connected.stream) return describe(connected.status, connected.why);
  EXPECT_EQ(connected.status, IoStatus::ok);
  connected.stream->write("x", deadline);
  char byte = 0;
  const IoStatus status = connected.stream->read({&byte, 1}, deadline).status;
  const std::string trouble = connected.stream->trouble();
  connected.stream->close();
  return status == IoStatus::ok ? "ok" : describe(status, trouble);
}

TEST_P(Tls, CertificatesWrongInEachWayAreSaidSo) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder, others;
    const CertificateAuthority ca(folder.path(), "ca"), foreign(folder.path(), "foreign"),
        namesake(others.path(), "ca"), old(folder.path(), "old", "20010101000000Z");
    const auto middle = ca.issue_authority("middle");
    const std::vector<std::string> hosts = {"redis.test"};
    const TlsOptions client{.ca_file = ca.file(), .server_name = "redis.test"};
    const auto server = [](const Certificate& certificate) {
      return TlsOptions{.certificate_file = certificate.certificate_file, .key_file = certificate.key_file};
    };
    const auto said = [&](const Certificate& certificate) {
      return meet(runtime, network, server(certificate), client);
    };
    const Certificate good = ca.issue({.name = "good", .hosts = hosts});
    EXPECT_EQ(said(good), "ok");
    EXPECT_EQ(said(middle->issue({.name = "chained", .hosts = hosts})), "ok");
    EXPECT_EQ(said(ca.issue({.name = "expired", .hosts = hosts, .end = "20010101000000Z"})),
              "the server's certificate (CN=expired) expired at 2001-01-01 00:00:00Z: renew it");
    EXPECT_EQ(
        said(ca.issue({.name = "early", .hosts = hosts, .begin = "20980101000000Z"})),
        "the server's certificate (CN=early) is valid from 2098-01-01 00:00:00Z only: look at the clocks");
    EXPECT_EQ(said(ca.issue({.name = "else", .hosts = {"a.test", "*.b.test"}, .addresses = {"10.0.0.1"}})),
              "the server's certificate (CN=else) is for a.test, *.b.test, 10.0.0.1 and not for redis.test: "
              "connect to a name that it has, or set server_name");
    EXPECT_EQ(said(ca.issue({.name = "redis.test"})),
              "the server's certificate (CN=redis.test) is for no host at all (a common name does not count) "
              "and not for redis.test: connect to a "
              "name that it has, or set server_name");
    EXPECT_EQ(
        said(CertificateAuthority::self_signed(folder.path(), {.name = "self", .hosts = hosts})),
        "the server's certificate (CN=self) has signed itself and is not trusted here: name it in ca_file if "
        "it is the right one");
    EXPECT_EQ(said(foreign.issue({.name = "stranger", .hosts = hosts})),
              "the server's certificate (CN=stranger) is signed by CN=foreign, which is not known here: name "
              "its CA "
              "in ca_file or ca_folder");
    EXPECT_EQ(said(namesake.issue({.name = "namesake", .hosts = hosts})),
              "the server's certificate (CN=namesake) is not signed by the CN=ca that is known here: another "
              "CA has "
              "that name, too");
    EXPECT_EQ(
        said(ca.issue({.name = "worker", .hosts = hosts, .for_server = false})),
        "the server's certificate (CN=worker) is not made for a server: look at its extended key usage");
    EXPECT_EQ(meet(runtime, network, server(old.issue({.name = "child", .hosts = hosts})),
                   {.ca_file = old.file(), .server_name = "redis.test"}),
              "a CA's certificate in the chain (CN=old) expired at 2001-01-01 00:00:00Z: renew it");
    // Only who asks for it is let off.
    EXPECT_EQ(meet(runtime, network, server(foreign.issue({.name = "any"})),
                   {.ca_file = ca.file(), .insecure_accept_any_certificate = true}),
              "ok");
  });
}

TEST_P(Tls, AnAddressIsNamedByTheCertificate) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca");
    const auto said = [&](const std::string& name, const std::vector<std::string>& addresses) {
      const Certificate shown = ca.issue({.name = name, .hosts = {"redis.test"}, .addresses = addresses});
      return meet(runtime, network, {.certificate_file = shown.certificate_file, .key_file = shown.key_file},
                  {.ca_file = ca.file(), .server_name = "10.0.0.1"});
    };
    EXPECT_EQ(said("right", {"10.0.0.2", "10.0.0.1"}), "ok");
    EXPECT_THAT(said("wrong", {"10.0.0.2"}), HasSubstr("is for redis.test, 10.0.0.2 and not for 10.0.0.1"));
  });
}

// Not the clock of the machine, from which that of the embedded world differs by years.
TEST_P(Tls, WhatIsValidNowIsAskedOfTheRuntime) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca");
    const auto at = [&](Duration from_now) {
      const std::time_t seconds =
          std::chrono::duration_cast<std::chrono::seconds>((runtime.wall_now() + from_now).time_since_epoch())
              .count();
      std::tm utc{};
      ::gmtime_r(&seconds, &utc);
      std::array<char, 32> text{};
      std::strftime(text.data(), text.size(), "%Y%m%d%H%M%SZ", &utc);
      return std::string(text.data());
    };
    const auto said = [&](const std::string& name, Duration begin, Duration end) {
      const Certificate shown =
          ca.issue({.name = name, .hosts = {"redis.test"}, .begin = at(begin), .end = at(end)});
      return meet(runtime, network, {.certificate_file = shown.certificate_file, .key_file = shown.key_file},
                  {.ca_file = ca.file(), .server_name = "redis.test"});
    };
    EXPECT_EQ(said("now", -24h, 24h), "ok");
    EXPECT_THAT(said("past", -48h, -24h), HasSubstr("(CN=past) expired at "));
    EXPECT_THAT(said("future", 24h, 48h), HasSubstr("(CN=future) is valid from "));
  });
}

// A folder as `openssl rehash` makes it: each CA under the hash of its name.
TEST_P(Tls, CasMayLieInAFolder) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder, trusted, empty;
    const CertificateAuthority ca(folder.path(), "ca");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(ca.file().c_str(), "r"),
                                                               std::fclose);
    X509* const certificate = PEM_read_X509(file.get(), nullptr, nullptr, nullptr);
    std::filesystem::copy_file(
        ca.file(), fmt::format("{}/{:08x}.0", trusted.path(), X509_subject_name_hash(certificate)));
    X509_free(certificate);
    const Certificate shown = ca.issue({.name = "good", .hosts = {"redis.test"}});
    const auto said = [&](const std::string& of) {
      return meet(runtime, network, {.certificate_file = shown.certificate_file, .key_file = shown.key_file},
                  {.ca_folder = of, .server_name = "redis.test"});
    };
    EXPECT_EQ(said(trusted.path()), "ok");
    EXPECT_THAT(said(empty.path()), HasSubstr("name its CA in ca_file or ca_folder"));
  });
}

// The first message of a client is not encrypted.
TEST_P(Tls, AServerIsAskedByItsName) {
  on([](Runtime& runtime, Network& network) {
    const auto hello = [&](const std::string& name) {
      TlsNetwork tls(runtime, network, {.server_name = name});
      const auto listener = network.listen({"", 0});
      const MonotonicTime deadline = runtime.now() + 60s;
      std::string text(4096, '\0');
      const Task server = runtime.spawn("server", [&] {
        const Connected accepted = listener->accept(deadline);
        text.resize(accepted.stream->read(text, deadline).bytes);
      });
      EXPECT_EQ(tls.connect(listener->endpoint(), deadline).stream, nullptr);
      return text;
    };
    EXPECT_THAT(hello("redis.test"), HasSubstr("redis.test"));
    EXPECT_THAT(hello("10.0.0.1"), Not(HasSubstr("10.0.0.1")));  // RFC 6066, section 3: names only
  });
}

TEST_P(Tls, AServerLooksAtItsClients) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca"), foreign(folder.path(), "foreign");
    const Certificate own = ca.issue({.name = "own", .hosts = {"redis.test"}});
    const TlsOptions server{.ca_file = ca.file(),
                            .certificate_file = own.certificate_file,
                            .key_file = own.key_file,
                            .demand_client_certificates = true};
    const auto said = [&](const Certificate& certificate, TlsVersion version = TlsVersion::tls_1_2) {
      return meet(runtime, network, server,
                  {.ca_file = ca.file(),
                   .certificate_file = certificate.certificate_file,
                   .key_file = certificate.key_file,
                   .server_name = "redis.test",
                   .minimum_version = version});
    };
    EXPECT_EQ(said(ca.issue({.name = "client", .for_server = false})), "ok");
    EXPECT_EQ(said(ca.issue({.name = "client", .for_server = false}), TlsVersion::tls_1_3), "ok");
    EXPECT_EQ(
        said({}),
        "the server wants a client's certificate, and none was shown: set certificate_file and key_file");
    EXPECT_EQ(
        said(foreign.issue({.name = "stranger"})),
        "the server does not trust the CA of the client's certificate: take one that its CA has signed");
    EXPECT_EQ(said(ca.issue({.name = "late", .end = "20010101000000Z"})),
              "the server says that the client's certificate is not valid now: renew it");
    EXPECT_EQ(
        said(ca.issue({.name = "server", .for_client = false})),
        "the server says that the client's certificate is not made for a client: look at its extended key "
        "usage");
  });
}

// The other side speaks something else, or nothing.
TEST_P(Tls, NoTlsAtThatPort) {
  on([](Runtime& runtime, Network& network) {
    TlsNetwork here(runtime, network, {});
    const auto listener = network.listen({"", 0});
    for (const bool silent : {false, true}) {
      const Task other = runtime.spawn("other", [&] {
        const Connected accepted = listener->accept(runtime.now() + 60s);
        if (!silent) accepted.stream->write("-ERR Protocol error\r\n", runtime.now() + 60s);
        char byte = 0;
        while (accepted.stream->read({&byte, 1}, runtime.now() + 60s).ok()) {
        }
      });
      const Connected connected =
          here.connect(listener->endpoint(), runtime.now() + (silent ? Duration(50ms) : Duration(60s)));
      EXPECT_EQ(connected.stream, nullptr);
      EXPECT_EQ(connected.status, silent ? IoStatus::timed_out : IoStatus::untrusted);
      EXPECT_THAT(describe(connected.status, connected.why),
                  silent ? HasSubstr("timed out during the TLS handshake; does the other side speak TLS")
                         : HasSubstr("does not speak TLS at this port: write redis://"));
    }
  });
}

// A record that was begun is ended by the next call, whoever makes it, and nothing is lost or doubled.
// Another stream, and how many bytes were written to it.
class CountedStream final : public Stream {
 public:
  CountedStream(std::unique_ptr<Stream> below, std::size_t& written)
      : below_(std::move(below)), written_(written) {}
  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    return below_->read(into, deadline);
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    written_ += bytes.size();
    return below_->write(bytes, deadline);
  }
  void finish_writing() noexcept override { below_->finish_writing(); }
  void close() noexcept override { below_->close(); }
  void reset() noexcept override { below_->reset(); }
  Endpoint local() const override { return below_->local(); }
  Endpoint peer() const override { return below_->peer(); }

 private:
  const std::unique_ptr<Stream> below_;
  std::size_t& written_;
};

// A client and a server that have met. The client has sent "x"; `talk` is the server's part.
void with_server(Runtime& runtime, Network& network, std::size_t& written,
                 const std::function<void(Stream& server, MonotonicTime deadline)>& talk,
                 const std::function<void(Stream& client, MonotonicTime deadline)>& answer) {
  const TemporaryFolder folder;
  const CertificateAuthority ca(folder.path(), "ca");
  const Certificate shown = ca.issue({.name = "good", .hosts = {"redis.test"}});
  TlsNetwork there(runtime, network,
                   {.certificate_file = shown.certificate_file, .key_file = shown.key_file});
  TlsNetwork here(runtime, network, {.ca_file = ca.file(), .server_name = "redis.test"});
  const auto listener = network.listen({"", 0});
  const MonotonicTime deadline = runtime.now() + 60s;
  const Task server = runtime.spawn("server", [&] {
    Connected accepted = listener->accept(deadline);
    const auto stream = there.accepted(std::make_unique<CountedStream>(std::move(accepted.stream), written));
    char byte = 0;
    ASSERT_TRUE(stream->read({&byte, 1}, deadline).ok());
    talk(*stream, deadline);
  });
  const Connected connected = here.connect(listener->endpoint(), deadline);
  ASSERT_EQ(connected.status, IoStatus::ok) << connected.why;
  ASSERT_TRUE(connected.stream->write("x", deadline).ok());
  answer(*connected.stream, deadline);
}

TEST_P(Tls, TheEndOfWritingIsToldByCloseNotify) {
  on([](Runtime& runtime, Network& network) {
    std::size_t written = 0, before = 0, after = 0;
    with_server(
        runtime, network, written,
        [&](Stream& server, MonotonicTime) {
          before = written;
          server.finish_writing();
          after = written;
        },
        [](Stream& client, MonotonicTime deadline) {
          char byte = 0;
          EXPECT_EQ(client.read({&byte, 1}, deadline).status, IoStatus::eof);
        });
    EXPECT_GT(after, before);
  });
}

TEST_P(Tls, WhatHasComeIsNotReadAfterClose) {
  on([](Runtime& runtime, Network& network) {
    std::size_t written = 0;
    with_server(
        runtime, network, written,
        [](Stream& server, MonotonicTime deadline) {
          server.write("two", deadline);  // in one record
          char byte = 0;
          server.read({&byte, 1}, deadline);
        },
        [](Stream& client, MonotonicTime deadline) {
          char byte = 0;
          EXPECT_EQ(client.read({&byte, 1}, deadline).status, IoStatus::ok);
          client.close();
          EXPECT_EQ(client.read({&byte, 1}, deadline).status, IoStatus::closed);
          EXPECT_EQ(client.write("x", deadline).status, IoStatus::closed);
        });
  });
}

TEST_P(Tls, AWriteThatTimesOutIsGoneOnWith) {
  on([](Runtime& runtime, Network& network) {
    const TemporaryFolder folder;
    const CertificateAuthority ca(folder.path(), "ca");
    const Certificate own = ca.issue({.hosts = {"redis.test"}});
    TlsNetwork there(runtime, network, {.certificate_file = own.certificate_file, .key_file = own.key_file});
    TlsNetwork here(runtime, network, {.ca_file = ca.file(), .server_name = "redis.test"});
    const auto listener = there.listen({"", 0});
    std::string sent(20'000'000, ' '), received;
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
    std::size_t handed = 0;
    std::atomic<bool> stuck = false;
    const MonotonicTime deadline = runtime.now() + 120s;
    Task other = runtime.spawn("other", [&] {
      const Connected accepted = listener->accept(deadline);
      std::vector<char> buffer(1 << 16);
      accepted.stream->read(std::span(buffer).first(1), deadline);  // the handshake, and no more
      while (!stuck) runtime.sleep_for(1ms);
      std::size_t got = 1;
      // What it has handed over comes to the end, though nobody writes any more: the client only reads.
      while (got < handed) {
        const IoResult read = accepted.stream->read(buffer, deadline);
        ASSERT_TRUE(read.ok()) << to_string(read.status);
        received.append(buffer.data(), read.bytes);
        got += read.bytes;
      }
      accepted.stream->write("!", deadline);
      char byte = 0;
      accepted.stream->read({&byte, 1}, deadline);
    });
    const Connected connected = here.connect(listener->endpoint(), deadline);
    ASSERT_EQ(connected.status, IoStatus::ok) << connected.why;
    const IoResult written = connected.stream->write(sent, runtime.now() + 200ms);
    EXPECT_EQ(written.status, IoStatus::timed_out);
    handed = written.bytes;
    EXPECT_LT(handed, sent.size());
    stuck = true;
    char byte = 0;
    EXPECT_TRUE(connected.stream->read({&byte, 1}, deadline).ok());
    EXPECT_EQ(byte, '!');
    connected.stream->close();
    other.join();
    EXPECT_EQ(received, sent.substr(1, handed - 1));
  });
}

// --- a real server ----------------------------------------------------------------------------------------

// A node of a Cluster listens at 10000 above, too, where outgoing connections take theirs.
std::uint16_t choose_two_ports(Network& network, const std::string& address) {
  for (;;) {
    const std::uint16_t port = choose_port(network, address);
    try {
      network.listen({address, static_cast<std::uint16_t>(port + 10000)})->close();
      return port;
    } catch (const std::system_error&) {  // taken
    }
  }
}

struct TlsRedis {
  TlsRedis(Runtime& runtime, Network& network, std::vector<std::string> settings = {})
      : ca(folder.path(), "ca"),
        certificate(ca.issue({.hosts = {"redis.test"}, .addresses = {"127.0.0.1"}})) {
    endpoint = {"127.0.0.1", choose_two_ports(network, "127.0.0.1")};
    std::vector<std::string> all = {
        "--tls-port",     std::to_string(endpoint.port), "--tls-cert-file",    certificate.certificate_file,
        "--tls-key-file", certificate.key_file,          "--tls-ca-cert-file", ca.file()};
    all.insert(all.end(), settings.begin(), settings.end());
    server = std::make_unique<RedisProcess>(
        runtime, network, RedisProcessOptions{.folder = folder.path() + "/redis", .settings = all});
    server->start();
  }
  TemporaryFolder folder;
  CertificateAuthority ca;
  Certificate certificate;
  Endpoint endpoint;
  std::unique_ptr<RedisProcess> server;
};

class TlsToRedis : public ::testing::TestWithParam<Ports> {
 protected:
  static void on(const std::function<void(Runtime&, Network&)>& body) {
    holdfast::testing::on_ports(GetParam(), body);
  }
};
INSTANTIATE_TEST_SUITE_P(Places, TlsToRedis, ::testing::ValuesIn(holdfast::testing::on_real_time()),
                         [](const auto& info) { return to_string(info.param); });

redis::ClientOptions options(const Endpoint& endpoint, TlsOptions tls) {
  return {.nodes = {{"", endpoint}}, .tls = std::move(tls), .connect_timeout = 30s, .command_timeout = 60s};
}

std::string asked(Runtime& runtime, Network& network, const redis::ClientOptions& options) {
  try {
    return redis::Client(runtime, network, options).call({"PING"}).reply.text;
  } catch (const redis::Error& error) {
    EXPECT_EQ(error.kind(), redis::Error::Kind::untrusted) << error.what();
    EXPECT_FALSE(error.may_have_executed());
    return error.what();
  }
}

TEST_P(TlsToRedis, AClientWithAndWithoutACertificate) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network);  // tls-auth-clients yes, as by default
    const TlsOptions full{.ca_file = redis.ca.file(),
                          .certificate_file = redis.certificate.certificate_file,
                          .key_file = redis.certificate.key_file};
    EXPECT_EQ(asked(runtime, network, options(redis.endpoint, full)), "PONG");
    TlsOptions named = full;
    named.server_name = "redis.test";
    named.minimum_version = TlsVersion::tls_1_3;
    EXPECT_EQ(asked(runtime, network, options(redis.endpoint, named)), "PONG");
    named.server_name = "other.test";
    EXPECT_THAT(asked(runtime, network, options(redis.endpoint, named)),
                HasSubstr("is for redis.test, 127.0.0.1 and not for other.test"));
    EXPECT_THAT(asked(runtime, network, options(redis.endpoint, {.ca_file = redis.ca.file()})),
                HasSubstr("the server wants a client's certificate, and none was shown"));
    EXPECT_THAT(asked(runtime, network, options(redis.endpoint, {})),
                HasSubstr("(CN=ca) is where the chain ends, and is not trusted here: name it in ca_file"));
    // No TLS where it is meant, and TLS where it is not.
    redis::ClientOptions plain = options(redis.endpoint, full);
    plain.tls.reset();
    EXPECT_ANY_THROW(redis::Client(runtime, network, plain).call({"PING"}, {.deadline = runtime.now() + 1s}));
  });
}

TEST_P(TlsToRedis, ManyTasksAndLongTexts) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network, {"--tls-auth-clients", "no"});
    redis::Client client(runtime, network, options(redis.endpoint, {.ca_file = redis.ca.file()}));
    std::vector<Task> tasks;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 16; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        const std::string mine = "k" + std::to_string(t), text(static_cast<std::size_t>(1 + t * 20'000), 'x');
        for (int i = 1; i <= 100; ++i) {
          if (client.call({"INCR", mine}, {.background = t % 4 == 0}).reply.integer != i) ++wrong;
          if (i % 10 == 0 && client.call({"ECHO", text}).reply.text != text) ++wrong;
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(TlsToRedis, ASecondConnectionResumesTheSession) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network, {"--tls-auth-clients", "no"});
    TlsNetwork tls(runtime, network, {.ca_file = redis.ca.file()});
    redis::ClientOptions over = options(redis.endpoint, {});
    over.tls.reset();  // it goes over a network that is encrypted already
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(redis::Client(runtime, tls, over).call({"PING"}).reply.text, "PONG");
    EXPECT_EQ(tls.statistics().handshakes, 3u);
    EXPECT_EQ(tls.statistics().resumed, 2u);
    // Another server at that address knows nothing of it: the handshake is done in full.
    redis.server->kill();
    redis.server->start();
    EXPECT_EQ(redis::Client(runtime, tls, over).call({"PING"}).reply.text, "PONG");
    EXPECT_EQ(tls.statistics().handshakes, 4u);
    EXPECT_EQ(tls.statistics().resumed, 2u);
  });
}

// A server of TLS 1.2 gives one ticket with each full handshake.
TEST_P(TlsToRedis, ATicketIsUsedOnce) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network, {"--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"});
    TlsNetwork tls(runtime, network, {.ca_file = redis.ca.file()});
    redis::ClientOptions over = options(redis.endpoint, {});
    over.tls.reset();
    std::vector<std::uint64_t> resumed;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(redis::Client(runtime, tls, over).call({"PING"}).reply.text, "PONG");
      resumed.push_back(tls.statistics().resumed);
    }
    EXPECT_THAT(resumed, ::testing::ElementsAre(0, 1, 1, 2));
  });
}

TEST_P(TlsToRedis, VersionsThatDoNotMeet) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network, {"--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"});
    TlsOptions tls{.ca_file = redis.ca.file()};
    EXPECT_EQ(asked(runtime, network, options(redis.endpoint, tls)), "PONG");
    tls.minimum_version = TlsVersion::tls_1_3;
    EXPECT_THAT(asked(runtime, network, options(redis.endpoint, tls)),
                HasSubstr("speaks none of the versions of TLS that are allowed here: lower minimum_version"));
  });
}

// What Sentinels and Clusters tell is an address of TLS, and the certificate must name it.
TEST_P(TlsToRedis, SentinelsAndClusters) {
  on([](Runtime& runtime, Network& network) {
    const TlsRedis redis(runtime, network, {"--tls-auth-clients", "no", "--tls-replication", "yes"});
    const std::string ask = "?ca_file=" + redis.ca.file();

    const std::string file = redis.folder.path() + "/sentinel.conf";
    std::ofstream(file) << "tls-replication yes\nsentinel monitor main 127.0.0.1 " << redis.endpoint.port
                        << " 1\n";
    const Endpoint at{"127.0.0.1", choose_port(network, "127.0.0.1")};
    RedisProcess sentinel(
        runtime, network,
        {.folder = redis.folder.path() + "/sentinel",
         .configuration = file,
         .settings = {"--sentinel", "--tls-port", std::to_string(at.port), "--tls-cert-file",
                      redis.certificate.certificate_file, "--tls-key-file", redis.certificate.key_file,
                      "--tls-ca-cert-file", redis.ca.file(), "--tls-auth-clients", "no"}});
    sentinel.start();
    redis::ClientOptions options =
        redis::options_from_url("rediss+sentinel://" + at.to_string() + "/main" + ask);
    options.connect_timeout = options.command_timeout = 30s;
    EXPECT_EQ(redis::Client(runtime, network, options).call({"PING"}).node, redis.endpoint.to_string());

    const TlsRedis node(runtime, network,
                        {"--tls-auth-clients", "no", "--cluster-enabled", "yes", "--tls-cluster", "yes"});
    std::vector<std::string> all = {"CLUSTER", "ADDSLOTS"};  // Redis 6.2 knows no ADDSLOTSRANGE
    for (int slot = 0; slot < 16384; ++slot) all.push_back(std::to_string(slot));
    node.server->call(all);
    options = redis::options_from_url("rediss+cluster://" + node.endpoint.to_string() +
                                      "?ca_file=" + node.ca.file());
    options.connect_timeout = options.command_timeout = 30s;
    EXPECT_EQ(redis::Client(runtime, network, options).call({"SET", "k", "v"}).reply.text, "OK");
    EXPECT_EQ(node.server->call({"GET", "k"}).text, "v");
  });
}

}  // namespace
}  // namespace holdfast
