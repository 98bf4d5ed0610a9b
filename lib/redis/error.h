// What can go wrong between a lock and its Redis, with the one question that a lock must answer:
// may the command have been executed?
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast::redis {

class Error : public std::runtime_error {
 public:
  // What has gone wrong.
  enum class Kind {
    unavailable,   // no connection could be made, or no primary found, by the deadline
    disconnected,  // the connection broke while the call was under way
    timed_out,     // no reply by the deadline
    rejected,      // the server answered with an error (`code` has its first word)
    passing,       // the server answered that it cannot do it now: LOADING, BUSY, OOM, ... (`code`)
    protocol,      // what came back is not RESP, or not a reply of the expected type
    unauthorized,  // NOAUTH, WRONGPASS, NOPERM
    untrusted,     // TLS: a certificate was refused, here or there, or the server speaks no TLS
    // a Redis older than 6.2, a Sentinel; a node of a Cluster, or none, where the other is meant
    unsupported,
    unreachable,  // nobody listens at any of the addresses, and nobody ever did
                  // (ClientOptions::wait_for_servers)
    interrupted,  // CallOptions::stop was triggered first
    forked,       // this process is a fork of the one that made the client: make one here
  };

  // `what` says it all in words: node, command, cause.
  Error(Kind kind, std::string node, std::string command, std::string code, bool may_have_executed,
        const std::string& what)
      : std::runtime_error(what),
        kind_(kind),
        node_(std::move(node)),
        command_(std::move(command)),
        code_(std::move(code)),
        may_have_executed_(may_have_executed) {}

  Kind kind() const noexcept { return kind_; }                      // what has gone wrong
  const std::string& node() const noexcept { return node_; }        // "" when none was reached
  const std::string& command() const noexcept { return command_; }  // its name, never its arguments
  const std::string& code() const noexcept { return code_; }        // "READONLY", ...; "" if no reply came
  // Another attempt may succeed: there was no connection, no answer, or one that says "not now".
  bool worth_another_attempt() const noexcept;
  // False: the command certainly had no effect. True: it was (at least partly) sent and its outcome is
  // unknown.
  bool may_have_executed() const noexcept { return may_have_executed_; }

 private:
  Kind kind_;
  std::string node_, command_, code_;
  bool may_have_executed_;
};

inline bool Error::worth_another_attempt() const noexcept {
  switch (kind_) {
    case Kind::unavailable:
    case Kind::disconnected:
    case Kind::timed_out:
    case Kind::passing: return true;
    case Kind::rejected:
    case Kind::protocol:
    case Kind::unauthorized:
    case Kind::untrusted:
    case Kind::unsupported:
    case Kind::unreachable:
    case Kind::interrupted:
    case Kind::forked: break;
  }
  return false;
}

}  // namespace holdfast::redis
