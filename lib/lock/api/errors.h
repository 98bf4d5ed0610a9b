// Errors of locks: typed exceptions under one base.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast {

// Base. Says which key, which node ("" when none was reached), and whether the operation may have taken
// effect on the server although it failed here.
class LockError : public std::runtime_error {
 public:
  // `what` says it all in words: key, node, cause.
  LockError(const std::string& what, std::string key, std::string node, bool may_have_executed)
      : std::runtime_error(what),
        key_(std::move(key)),
        node_(std::move(node)),
        may_have_executed_(may_have_executed) {}
  const std::string& key() const noexcept { return key_; }    // of the lock
  const std::string& node() const noexcept { return node_; }  // who answered; "": nobody
  // True: the operation may have taken effect on the server all the same.
  bool may_have_executed() const noexcept { return may_have_executed_; }

 private:
  std::string key_, node_;
  bool may_have_executed_;
};

// release() or unlock() by somebody who does not hold the lock.
class NotOwner : public LockError {
  using LockError::LockError;
};
// The hold ended before its release: expired, removed, or gone with a failover. What the lock protects may
// have been changed by others.
class LockLost : public LockError {
  using LockError::LockError;
};
// The stop_token of an interruptible wait was triggered.
class Interrupted : public LockError {
  using LockError::LockError;
};
// No answer from a primary in time; see may_have_executed().
class Unavailable : public LockError {
  using LockError::LockError;
};
// The server refused (wrong type, no permission, unknown command, ...), and the text carries its answer; or
// it could not be trusted, or did not trust this side (TLS).
class Rejected : public LockError {
  using LockError::LockError;
};

// A wait that had a bound, and whose caller asked for an error, came to its end.
class WaitTimeout : public LockError {
  using LockError::LockError;
};
// The calling task itself is what it would wait for: it holds a lock that is not reentrant, or holds the read
// side and asks for the write side.
class WouldDeadlock : public LockError {
  using LockError::LockError;
};
// This process is a fork of the one that made the lock or its client. Its threads, connections and owners are
// the parent's; the child makes a client and locks of its own.
class Forked : public LockError {
  using LockError::LockError;
};
// This server, or this kind of lock, cannot do that.
class Unsupported : public LockError {
  using LockError::LockError;
};

}  // namespace holdfast
