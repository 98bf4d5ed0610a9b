// A cluster of embedded servers in a world of its own, and a caller that speaks RESP to it.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/resp_framer.h"
#include "sim/world/world.h"

namespace holdfast::sim {

// A connection that sends a line in redis-cli's quoting and returns the next reply's bytes.
class Caller {
 public:
  Caller(Process& process, const Endpoint& to) : runtime_(process.runtime()) {
    Connected connected = process.network().connect(to, runtime_.now() + std::chrono::seconds(5));
    stream_ = std::move(connected.stream);
  }
  std::string ask(std::string_view line) {
    if (stream_ == nullptr) return "not connected";
    if (!stream_->write(std::string(line) + "\r\n", kNever).ok()) return "not sent";
    return read();
  }
  // Reads until a reply is complete; what came along with it is returned too.
  std::string read(Duration patience = std::chrono::seconds(20)) {
    RespFramer framer(RespFramer::Grammar::replies);
    std::string text;
    std::array<char, 4096> piece{};
    do {
      const IoResult got = stream_->read(piece, runtime_.now() + patience);
      if (!got.ok()) return std::string(to_string(got.status));
      const std::string_view bytes(piece.data(), got.bytes);
      text += bytes;
      for (std::size_t done = 0; done < bytes.size();) done += framer.scan(bytes.substr(done)).consumed;
    } while (!framer.at_boundary() && !framer.broken());
    return text;
  }

 private:
  Runtime& runtime_;
  std::unique_ptr<Stream> stream_;
};

// Runs `story` in a world with a cluster that has been started. Returns the trace's digest.
inline std::uint64_t in_cluster(const ClusterOptions& options,
                                const std::function<void(World&, Proxy&, Cluster&)>& story) {
  const auto world = make_embedded_world({.seed = 7});
  world->run([&] {
    Proxy proxy(*world);
    const auto cluster = make_embedded_cluster(*world, proxy, options);
    cluster->start();
    story(*world, proxy, *cluster);
  });
  return world->trace().digest();
}

// The value of a field of INFO; "?": not there.
inline std::string field(const std::string& info, const std::string& name) {
  const std::size_t at = info.find("\n" + name + ":");
  return at == std::string::npos
             ? "?"
             : info.substr(at + name.size() + 2, info.find('\r', at) - at - name.size() - 2);
}

}  // namespace holdfast::sim
