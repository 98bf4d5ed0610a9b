// What TLS costs: GETs a second through one client on one connection to a real redis-server, encrypted and
// not, beside redis-benchmark over the same (with --tls), in turns. Prints medians and ratios.
//
//   build/bench_tls [ROUNDS]     5 unless given
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/testing/server/certificates.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/world/world.h"
#include "tools/bench/bench_server.h"

namespace {

using namespace holdfast;

constexpr int kCalls = 200'000;  // of a measurement with several in flight; with one a tenth of them

struct Server {
  Endpoint plain, encrypted;
  std::string ca_file;
};

double ours(Runtime& runtime, Network& network, const Server& server, bool tls, int in_flight, int calls) {
  redis::ClientOptions options;
  options.nodes.push_back({"", tls ? server.encrypted : server.plain});
  if (tls) options.tls = TlsOptions{.ca_file = server.ca_file};
  redis::Client client(runtime, network, options);
  client.call({"SET", "k", "v"});
  const MonotonicTime begin = runtime.now();
  std::vector<Task> callers;
  for (int t = 0; t < in_flight; ++t) {
    callers.push_back(runtime.spawn("caller", [&] {
      for (int i = 0; i < calls / in_flight; ++i) client.call({"GET", "k"});
    }));
  }
  callers.clear();
  return calls / std::chrono::duration<double>(runtime.now() - begin).count();
}

double theirs(const Server& server, bool tls, int in_flight, int calls) {
  const Endpoint& at = tls ? server.encrypted : server.plain;
  std::vector<std::string> arguments = {"-h",   at.host,
                                        "-p",   std::to_string(at.port),
                                        "-c",   "1",
                                        "-P",   std::to_string(in_flight),
                                        "-n",   std::to_string(calls),
                                        "--csv"};
  if (tls) arguments.insert(arguments.end(), {"--tls", "--cacert", server.ca_file});
  arguments.insert(arguments.end(), {"GET", "k"});
  const std::string text =
      tools::run_program(find_program("redis-benchmark"), arguments, std::chrono::seconds(120));
  const std::size_t number = text.find("\",\"", text.rfind("\n\"GET"));
  return number == std::string::npos ? 0 : std::strtod(text.c_str() + number + 3, nullptr);
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

void measure(int rounds) {
  const auto world = sim::make_real_world({});
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    SocketNetwork network(runtime);
    const TemporaryFolder folder;
    const holdfast::testing::CertificateAuthority ca(folder.path(), "ca");
    const auto certificate = ca.issue({.addresses = {"127.0.0.1"}});
    Server server{
        .plain = {}, .encrypted = {"127.0.0.1", choose_port(network, "127.0.0.1")}, .ca_file = ca.file()};
    RedisProcess redis(runtime, network,
                       {.folder = folder.path() + "/redis",
                        .settings = {"--tls-port", std::to_string(server.encrypted.port), "--tls-cert-file",
                                     certificate.certificate_file, "--tls-key-file", certificate.key_file,
                                     "--tls-ca-cert-file", ca.file(), "--tls-auth-clients", "no"}});
    redis.start();
    server.plain = redis.endpoint();
    fmt::print("{:>9}  {:<6}{:>16}{:>18}{:>8}\n", "in flight", "", "client calls/s", "redis-benchmark",
               "ratio");
    for (const int in_flight : {1, 50, 500}) {
      const int calls = in_flight == 1 ? kCalls / 10 : kCalls;
      std::array<std::vector<double>, 2> own, other, ratio;
      for (int round = 0; round < rounds; ++round) {
        for (const std::size_t tls : {0u, 1u}) {
          own[tls].push_back(ours(runtime, network, server, tls == 1, in_flight, calls));
          other[tls].push_back(theirs(server, tls == 1, in_flight, calls));
          ratio[tls].push_back(own[tls].back() / other[tls].back());
        }
      }
      for (const std::size_t tls : {0u, 1u}) {
        fmt::print("{:>9}  {:<6}{:>16.0f}{:>18.0f}{:>8.2f}\n", in_flight, tls == 1 ? "TLS" : "plain",
                   median(own[tls]), median(other[tls]), median(ratio[tls]));
      }
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (rounds < 1 || find_program("redis-benchmark").empty()) {
    fmt::print(stderr, "bench_tls: expected a number of rounds from 1 on, and redis-benchmark in PATH\n");
    return 64;
  }
  measure(rounds);
}
