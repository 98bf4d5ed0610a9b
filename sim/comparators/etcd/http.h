// HttpConnection: one connection to etcd's HTTP gateway. It asks one thing after the other; an answer is
// whole, or lines that come over time.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::sim::etcd {

// No answer: the connection is over.
class NoAnswer : public std::runtime_error {
 public:
  NoAnswer(const std::string& what, bool sent) : std::runtime_error(what), sent_(sent) {}
  bool may_have_executed() const { return sent_; }

 private:
  bool sent_;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

class HttpConnection {
 public:
  // [parks] Throws NoAnswer.
  HttpConnection(Runtime& runtime, Network& network, const Endpoint& at, MonotonicTime deadline,
                 const std::stop_token& stop = {});

  // [parks] A request with a body of JSON. Throws NoAnswer, at the deadline and on a stop request, too; then,
  // and when open() says so, this object is of no further use.
  HttpAnswer post(std::string_view target, std::string_view body, MonotonicTime deadline,
                  const std::stop_token& stop = {});
  // [parks] The same, but each line of the answer is handed to `line` as it comes, until that returns false:
  // then the connection is broken off.
  void post_and_listen(std::string_view target, std::string_view body, MonotonicTime deadline,
                       const std::stop_token& stop, const std::function<bool(std::string_view line)>& line);

  bool open() const { return open_; }
  // By any task: who waits for an answer has none.
  void break_off() noexcept;

 private:
  using Part = std::function<bool(std::string& body)>;  // what came of it; false: it is enough
  HttpAnswer exchange(std::string_view target, std::string_view body, MonotonicTime deadline,
                      const std::stop_token& stop, const Part& part);

  Runtime& runtime_;
  const std::string host_;
  std::unique_ptr<Stream> stream_;
  std::string ahead_;  // read, and not of the answer before
  bool open_ = false;
};

}  // namespace holdfast::sim::etcd
