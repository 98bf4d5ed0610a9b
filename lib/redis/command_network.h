// CommandNetwork: a Network for an application that already has a Redis client and wants its connections to
// carry ours, too: its hiredis contexts, redis-plus-plus, Boost.Redis, or what its company wraps around one.
// The application implements two small classes; redis::Client stands on them as on sockets, with all locks.
//
//   holdfast::ThreadRuntime runtime;
//   holdfast::redis::CommandNetwork network(runtime, {.commands = make_commands, .messages = make_messages});
//   holdfast::redis::Client client(runtime, network, options);
//   holdfast::FairLocks locks(client, {.lease = 10s});
//
// hiredis_connections.h has both for hiredis.
//
// Who only has sockets of his own (a proxy, a tunnel) needs SocketNetworkOptions::connector instead, which
// costs nothing; here each command is written as RESP and taken apart again, and each connection has a task
// of its own, which the application's code may block. So the runtime is one of threads.
//
// No connection is shared: a client asks for one for commands, one for messages, and more for renewals and
// WAIT (redis::Lane). On each it sends HELLO first, and perhaps AUTH, CLIENT SETNAME and ROLE. The
// application must let WAIT take as long as it says, and must repeat nothing: an acquire that is executed
// twice may be answered as refused though the lock is held.
//
// Thread safety: as Network. One task at a time calls a connection, but cancel().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

// One connection of the application's client, for commands. Its destructor ends it.
class CommandConnection {
 public:
  virtual ~CommandConnection() = default;
  // [parks] Sends `commands` back to back and returns as many replies, in order; an error reply is one of
  // them. Throws std::exception: the connection is broken, and any of them may have been executed.
  virtual std::vector<Reply> execute(const std::vector<std::vector<std::string>>& commands) = 0;
  // Ends an execute() that is under way, and refuses later ones. Called by another task, at any time.
  virtual void cancel() noexcept = 0;
};

// One for messages.
class MessageConnection {
 public:
  virtual ~MessageConnection() = default;
  // [parks] Sends SUBSCRIBE, UNSUBSCRIBE (one channel each) or PING, in a Redis Cluster SSUBSCRIBE and
  // SUNSUBSCRIBE, too; their replies are received. Throws std::exception: the connection is broken.
  virtual void send(const std::vector<std::string>& command) = 0;
  // [parks] What comes next, as RESP2 has it: {"subscribe", channel, 1}, {"unsubscribe", channel, 0},
  // {"message", channel, payload}, {"pong", ""}, and the sharded forms of these; an error as an error.
  // nullopt: nothing within `patience`. Throws as send().
  virtual std::optional<Reply> receive(Duration patience) = 0;
  // Ends a call that is under way, and refuses later ones. Called by another task, at any time.
  virtual void cancel() noexcept = 0;
};

// How the application connects: [parks] to a server, in at most `patience`, or throws std::exception, whose
// text is shown.
struct CommandConnections {
  // For commands.
  std::function<std::unique_ptr<CommandConnection>(const Endpoint& to, Duration patience)> commands;
  // For messages.
  std::function<std::unique_ptr<MessageConnection>(const Endpoint& to, Duration patience)> messages;
};

class CommandNetwork final : public Network {
 public:
  // `runtime` outlives it and its streams. REQUIRES: both functions are set.
  CommandNetwork(Runtime& runtime, CommandConnections connections);

  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  // Throws std::system_error: nobody connects to a client.
  std::unique_ptr<Listener> listen(const Endpoint& at) override;

 private:
  Runtime& runtime_;
  const std::shared_ptr<const CommandConnections> connections_;
};

}  // namespace holdfast::redis
