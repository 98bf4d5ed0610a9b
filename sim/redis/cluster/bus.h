// The bus of an embedded node: a listener for the other nodes, and one connection to each of them. A message
// goes out on the connection to its node; a PING is answered on the one that it came on.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/cluster/message.h"

namespace holdfast::sim::embedded {

// One connection. It is there from the moment in which it begins to connect; what is sent before it is
// connected goes out then.
class BusLink : public std::enable_shared_from_this<BusLink> {
 public:
  void send(const BusMessage& message);
  void close();
  bool open() const { return open_; }
  std::int64_t opened_ms = 0;  // wall clock; of our own connections kept by their owner

 private:
  friend class Bus;
  void write(std::string_view bytes);

  bool open_ = true;
  std::shared_ptr<Stream> stream_;
  std::string unsent_;
};

class Bus : public std::enable_shared_from_this<Bus> {
 public:
  // `from`: the connection to a node that we made; null: theirs. `on`: where an answer goes.
  using OnMessage = std::function<void(const BusMessage& message, BusLink* from, BusLink& on)>;

  // Binds the port (std::system_error if it cannot).
  Bus(Runtime& runtime, Network& network, const Endpoint& listen);

  void serve(OnMessage on_message);  // [parks] until stop()
  void stop();
  void end_tasks();  // [parks] REQUIRES: stop()
  // Begins to connect.
  std::shared_ptr<BusLink> connect(const Endpoint& to);

 private:
  void start(std::function<void()> body);
  void read(const std::shared_ptr<BusLink>& link, bool own);

  Runtime& runtime_;
  Network& network_;
  std::unique_ptr<Listener> listener_;
  OnMessage on_message_;
  std::list<Task> tasks_;
  std::list<std::weak_ptr<BusLink>> links_;
  std::size_t reap_from_ = 32;
  bool stopped_ = false;
};

}  // namespace holdfast::sim::embedded
