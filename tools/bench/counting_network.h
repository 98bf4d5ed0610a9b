// CountingNetwork: a Network that counts the commands written to its streams, for benchmarks.
//
// A command of RESP begins with '*' at the start of a line; no payload of a lock contains such a line. The
// server's own counters are no help: they also count the commands inside scripts.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/net/network.h"

namespace holdfast::tools {

struct WireCounts {
  std::atomic<std::uint64_t> commands{0}, sent_bytes{0}, received_bytes{0}, connections{0};
};

class CountingStream final : public Stream {
 public:
  CountingStream(std::unique_ptr<Stream> stream, WireCounts& counts)
      : stream_(std::move(stream)), counts_(counts) {}

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    const IoResult result = stream_->read(into, deadline);
    if (result.ok()) counts_.received_bytes.fetch_add(result.bytes, std::memory_order_relaxed);
    return result;
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    counts_.sent_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    counts_.commands.fetch_add(commands_in(bytes), std::memory_order_relaxed);
    return stream_->write(bytes, deadline);
  }
  void finish_writing() noexcept override { stream_->finish_writing(); }
  void close() noexcept override { stream_->close(); }
  void reset() noexcept override { stream_->reset(); }
  Endpoint local() const override { return stream_->local(); }
  Endpoint peer() const override { return stream_->peer(); }

 private:
  std::uint64_t commands_in(std::string_view bytes) {
    std::uint64_t found = 0;
    for (std::size_t at = 0; (at = bytes.find('*', at)) != std::string_view::npos; ++at) {
      if (at == 0 ? line_begins_ : bytes[at - 1] == '\n') ++found;
    }
    if (!bytes.empty()) line_begins_ = bytes.back() == '\n';
    return found;
  }

  std::unique_ptr<Stream> stream_;
  WireCounts& counts_;
  bool line_begins_ = true;
};

// `inner` and `counts` outlive it and its streams.
class CountingNetwork final : public Network {
 public:
  CountingNetwork(Network& inner, WireCounts& counts) : inner_(inner), counts_(counts) {}
  Connected connect(const Endpoint& to, MonotonicTime deadline) override {
    Connected connected = inner_.connect(to, deadline);
    if (connected.stream != nullptr) {
      counts_.connections.fetch_add(1, std::memory_order_relaxed);
      connected.stream = std::make_unique<CountingStream>(std::move(connected.stream), counts_);
    }
    return connected;
  }
  std::unique_ptr<Listener> listen(const Endpoint& at) override { return inner_.listen(at); }

 private:
  Network& inner_;
  WireCounts& counts_;
};

}  // namespace holdfast::tools
