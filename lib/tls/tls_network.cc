#include "lib/tls/tls_network.h"

#include <utility>

#include "lib/runtime/check.h"
#include "lib/tls/tls_context.h"
#include "lib/tls/tls_stream.h"

namespace holdfast {

using tls::SslPtr;
using tls::TlsStream;
using tls::Told;

class TlsNetwork::Context final : public tls::Context {
 public:
  using tls::Context::Context;
};

class TlsNetwork::TlsListener final : public Listener {
 public:
  TlsListener(TlsNetwork& network, std::unique_ptr<Listener> below)
      : network_(network), below_(std::move(below)) {}

  Connected accept(MonotonicTime deadline) override {
    Connected accepted = below_->accept(deadline);
    if (accepted.stream) accepted.stream = network_.accepted(std::move(accepted.stream));
    return accepted;
  }
  Endpoint endpoint() const override { return below_->endpoint(); }
  void close() noexcept override { below_->close(); }

 private:
  TlsNetwork& network_;
  const std::unique_ptr<Listener> below_;
};

TlsNetwork::TlsNetwork(Runtime& runtime, Network& below, const TlsOptions& options)
    : runtime_(runtime), below_(below), context_(std::make_shared<Context>(runtime, options)) {}

TlsNetwork::~TlsNetwork() = default;

Connected TlsNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  auto told = std::make_unique<Told>();
  SslPtr ssl;
  try {
    ssl = context_->connect(to, runtime_.wall_now(), *told);
  } catch (const BadTls& error) {
    return {IoStatus::untrusted, nullptr, error.what()};
  }
  Connected connected = below_.connect(to, deadline);
  if (!connected.stream) return connected;
  auto stream = std::make_unique<TlsStream>(runtime_, context_, std::move(connected.stream), std::move(told),
                                            std::move(ssl), TlsStream::Side::client, to);
  const IoStatus status = stream->handshake(deadline);
  if (status != IoStatus::ok) return {status, nullptr, stream->trouble()};
  return {IoStatus::ok, std::move(stream), {}};
}

std::unique_ptr<Listener> TlsNetwork::listen(const Endpoint& at) {
  return std::make_unique<TlsListener>(*this, below_.listen(at));
}

std::unique_ptr<Stream> TlsNetwork::accepted(std::unique_ptr<Stream> below) {
  HF_CHECK(!context_->options().certificate_file.empty(), "who is connected to by TLS shows a certificate");
  auto told = std::make_unique<Told>();
  SslPtr ssl = context_->accept(runtime_.wall_now(), *told);
  return std::make_unique<TlsStream>(runtime_, context_, std::move(below), std::move(told), std::move(ssl),
                                     TlsStream::Side::server, Endpoint());
}

TlsStatistics TlsNetwork::statistics() const noexcept {
  return {context_->handshakes.load(std::memory_order_relaxed),
          context_->resumed.load(std::memory_order_relaxed)};
}

}  // namespace holdfast
