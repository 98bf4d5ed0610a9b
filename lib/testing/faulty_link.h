// FaultyLink: a wire between a client and a server that a test can hold up, or that loses one reply. On the
// ports.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::testing {

class FaultyLink {
 public:
  FaultyLink(Runtime& runtime, Network& network, Endpoint upstream);
  ~FaultyLink();  // [parks]
  FaultyLink(const FaultyLink&) = delete;
  FaultyLink& operator=(const FaultyLink&) = delete;

  Endpoint endpoint() const { return endpoint_; }
  // The next `times` requests that contain `needle` are executed, but their reply is lost with the
  // connection.
  void lose_reply_to(std::string needle, int times = 1);
  // The same, but the requests do not reach the server either. One needle at a time, of both.
  void lose_request_with(std::string needle, int times = 1);
  int to_lose();  // how many are still to come
  // The next request that contains `needle` waits for release_request().
  void hold_request(std::string needle);
  void wait_held();  // [parks] until it has come
  void release_request();
  // While it stalls, nothing passes in either direction (and nothing is lost).
  void stall(bool on);
  // How often `needle` has passed towards the server since then ("*": commands). Only one needle at a time.
  void count(std::string needle);
  int counted() const { return counted_; }

 private:
  struct Link {
    std::unique_ptr<Stream> client, server;
    std::atomic<bool> lose = false;
    std::list<Task> tasks;
  };
  void accept_all();
  void up(Link& link);
  void down(Link& link);
  void wait_while_stalled();

  Runtime& runtime_;
  Network& network_;
  const Endpoint upstream_;
  Endpoint endpoint_;
  std::unique_ptr<Listener> listener_;
  Mutex mutex_;
  Condition changed_;
  std::string needle_, counted_needle_, held_needle_;
  bool held_ = false;
  int to_lose_ = 0;
  bool lose_requests_ = false;
  bool stalled_ = false, closing_ = false;
  std::atomic<int> counted_ = 0;
  std::list<Link> links_;
  Task acceptor_;
};

}  // namespace holdfast::testing
