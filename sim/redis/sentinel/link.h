// SentinelLink: one connection of a Sentinel to somebody it watches, for commands or for a subscription.
//
// It is there from the moment in which it begins to connect; what is sent before it is connected goes out
// then. When it breaks, the answers that are still awaited do not come.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"

namespace holdfast::sim::embedded {

class SentinelLink : public std::enable_shared_from_this<SentinelLink> {
 public:
  using OnReply = std::function<void(const redis::Reply&)>;

  using Start = std::function<void(std::function<void()> body)>;  // of a task that outlives nobody

  // `on_message` gets the messages of a subscription.
  SentinelLink(Runtime& runtime, Network& network, Endpoint to, Start start, std::function<void()> on_broken,
               OnReply on_message = nullptr);

  void open();  // REQUIRES: broken()
  void close();
  bool broken() const { return !open_; }
  bool connected() const { return stream_ != nullptr; }
  std::size_t pending() const { return awaited_.size(); }
  std::int64_t opened_ms = 0;  // kept by its owner

  // `on_reply` is not called when the link breaks first.
  void send(std::initializer_list<std::string_view> command, OnReply on_reply = nullptr);

 private:
  void run(std::uint64_t generation);
  void write(std::string_view bytes);

  Runtime& runtime_;
  Network& network_;
  const Endpoint to_;
  const Start start_;
  const std::function<void()> on_broken_;
  const OnReply on_message_;
  bool open_ = false;
  std::uint64_t generation_ = 0;
  std::shared_ptr<Stream> stream_;
  std::string unsent_;  // until it is connected
  std::deque<OnReply> awaited_;
};

}  // namespace holdfast::sim::embedded
