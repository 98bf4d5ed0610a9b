// Client: what one client process knows of etcd: which member it asks, and connections to it that nobody uses
// now. It stays with a member as long as that answers, and goes on to the next one else.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "sim/comparators/etcd/http.h"

namespace holdfast::sim::etcd {

using Json = nlohmann::json;

// No answer, or an error for an answer.
class Error : public std::runtime_error {
 public:
  enum class Kind {
    unavailable,  // nobody who can answer
    not_found,    // no such lease
    refused       // everything else that a server says
  };
  Error(const std::string& what, Kind kind, std::string node, bool may_have_executed)
      : std::runtime_error(what),
        kind_(kind),
        node_(std::move(node)),
        may_have_executed_(may_have_executed) {}
  Kind kind() const { return kind_; }
  const std::string& node() const { return node_; }
  bool may_have_executed() const { return may_have_executed_; }

 private:
  Kind kind_;
  std::string node_;
  bool may_have_executed_;
};

struct Answer {
  Json body;
  std::string node;
  MonotonicTime sent_at{};  // before it was sent, the time that counts
  bool again = false;       // it had been sent before, and may have been executed then
};

std::string to_base64(std::string_view bytes);
// etcd writes 64 bits as text, and leaves out what is zero.
std::int64_t number_at(const Json& object, const char* key);

class Client {
 public:
  // `patience`: with each request; a member has a third of it.
  Client(Runtime& runtime, std::vector<redis::Node> nodes, Duration connect_timeout, Duration patience);

  // [parks] Asks for something that may be done twice: again and again until the deadline, where a member is
  // silent or has no leader. Throws Error.
  Answer ask(std::string_view target, const Json& request, MonotonicTime deadline,
             const std::stop_token& stop = {});
  // [parks] Until that key (in base64) is deleted, if not before `revision`. False: at the deadline, on a
  // stop request. Throws Error when the member does not watch any more, or this client has turned to
  // another one.
  bool wait_for_deletion(const std::string& key, std::int64_t revision, MonotonicTime deadline,
                         const std::stop_token& stop);

  // The end of the patience with what is asked for now.
  MonotonicTime limit() const { return deadline_after(runtime_.now(), patience_); }
  Runtime& runtime() const { return runtime_; }

 private:
  std::unique_ptr<HttpConnection> connect(MonotonicTime deadline, const std::stop_token& stop);
  void turn_from(std::size_t node);

  Runtime& runtime_;
  SocketNetwork network_;  // its connections come from where the kernel has them come from
  const std::vector<redis::Node> nodes_;
  const Duration connect_timeout_, patience_;
  std::size_t node_ = 0;
  std::vector<std::unique_ptr<HttpConnection>> idle_;  // to that one
  std::set<HttpConnection*> watching_;                 // likewise
};

// [parks] One request to one server, by a connection of its own. Throws Error.
Json ask_once(Runtime& runtime, Network& network, const redis::Node& node, std::string_view target,
              const Json& request, MonotonicTime deadline);

}  // namespace holdfast::sim::etcd
