#include "lib/testing/fake_server.h"

#include <array>
#include <utility>

#include "lib/redis/reply_reader.h"

namespace holdfast::redis::testing {

void Peer::send(std::string_view bytes) { stream_->write(bytes, kNever); }

void Peer::send_in_pieces(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    send(bytes.substr(i, 1));
    runtime_.yield();
  }
}

FakeServer::FakeServer(Runtime& runtime, Network& network, Handler handler, Endpoint at, Greets greets)
    : runtime_(runtime),
      network_(network),
      handler_(std::move(handler)),
      greets_(greets),
      endpoint_(std::move(at)),
      mutex_(runtime),
      changed_(runtime) {
  start();
}

void FakeServer::start() {
  listener_ = network_.listen(endpoint_);
  endpoint_ = listener_->endpoint();
  acceptor_ = runtime_.spawn("server", [this] { accept_all(); });
}

void FakeServer::restart() { start(); }

void FakeServer::stop() {
  if (!listener_) return;
  listener_->close();
  acceptor_.join();
  listener_.reset();
  {
    const std::unique_lock lock(mutex_);
    for (const auto& peer : peers_) peer->close();
  }
  tasks_.clear();  // joins
  peers_.clear();
}

void FakeServer::accept_all() {
  for (;;) {
    Connected connected = listener_->accept(kNever);
    if (!connected.stream) return;
    const auto peer = std::make_shared<Peer>(runtime_, std::move(connected.stream), ++accepted_);
    {
      const std::unique_lock lock(mutex_);
      peers_.push_back(peer);
    }
    tasks_.push_back(runtime_.spawn("server", [this, peer] { serve(peer); }));
  }
}

void FakeServer::serve(const std::shared_ptr<Peer>& peer) {
  ReplyReader reader;
  Reply request;
  std::array<char, 4096> buffer;
  for (;;) {
    const IoResult got = peer->stream().read(buffer, kNever);
    if (!got.ok()) return;
    reader.feed({buffer.data(), got.bytes});
    while (reader.next(request) == ReplyReader::Next::reply) {
      if (greets_ == Greets::yes && !request.items.empty() && request.items[0].text == "HELLO") {
        peer->send(greeting("7.0.15"));
        continue;
      }
      if (greets_ == Greets::yes && request.items.size() == 2 && request.items[0].text == "INFO") {
        peer->send(bulk("# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"));
        continue;
      }
      Command command;
      std::string line = std::to_string(peer->number());
      for (const Reply& item : request.items) {
        command.push_back(item.text);
        line += " " + item.text;
      }
      {
        const std::unique_lock lock(mutex_);
        log_.push_back(line);
        changed_.notify_all();
      }
      handler_(*peer, command);
    }
  }
}

std::vector<std::string> FakeServer::log() {
  const std::unique_lock lock(mutex_);
  return log_;
}

void FakeServer::wait_for(std::size_t commands) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, kNever, [&] { return log_.size() >= commands; });
}

void FakeServer::broadcast(std::string_view bytes) {
  const std::unique_lock lock(mutex_);
  for (const auto& peer : peers_) peer->send(bytes);
}

void FakeServer::reset_all() {
  const std::unique_lock lock(mutex_);
  for (const auto& peer : peers_) peer->reset();
}

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string array(std::initializer_list<std::string> items) {
  std::string out = "*" + std::to_string(items.size()) + "\r\n";
  for (const std::string& item : items) out += item;
  return out;
}

std::string greeting(std::string_view version, std::string_view mode) {
  return array({bulk("server"), bulk("redis"), bulk("version"), bulk(version), bulk("proto"), ":2\r\n",
                bulk("id"), ":1\r\n", bulk("mode"), bulk(mode), bulk("role"), bulk("master"), bulk("modules"),
                "*0\r\n"});
}

}  // namespace holdfast::redis::testing
