// ReplicaLink: the task with which a replica follows its primary: connects, synchronises, applies the stream,
// acknowledges; again after a second when the connection breaks.
#pragma once

#include <memory>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

class ReplicaLink : public std::enable_shared_from_this<ReplicaLink> {
 public:
  // `host`: what it announces beside `port`; "": nothing.
  ReplicaLink(Runtime& runtime, Network& network, std::shared_ptr<Engine> engine, std::uint16_t port,
              std::string host);

  void serve();  // [parks] until stop()
  void stop();
  void poke();  // the primary to follow may have changed

 private:
  void follow_once();                                       // one connection, from connecting to its end
  bool ask(std::string_view request, std::string& answer);  // one line
  void wait_for_script();
  IoStatus read_some(MonotonicTime deadline);  // [parks] more into in_
  bool fill();                                 // the same, with the replication time-out
  bool line(std::string& text);
  bool synchronise();
  bool acknowledge();  // [parks] writes what the replication wants to say

  Runtime& runtime_;
  Network& network_;
  std::shared_ptr<Engine> engine_;
  std::uint16_t port_;
  const std::string host_;
  std::unique_ptr<Stream> stream_;
  std::string in_;
  std::size_t in_pos_ = 0;
  std::uint64_t generation_ = 0;
  bool stopped_ = false;
  Parker* parker_ = nullptr;
};

}  // namespace holdfast::sim::embedded
