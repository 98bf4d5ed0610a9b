#include "lib/redis/hiredis_connections.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

struct FreeContext {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using Received = std::unique_ptr<redisReply, FreeReply>;

[[noreturn]] void fail(const redisContext& context) {
  throw std::runtime_error(context.errstr[0] != '\0' ? std::string("hiredis: ") + context.errstr
                                                     : "hiredis says no reason");
}

Reply value_of(const redisReply& from) {
  Reply reply;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      reply.type = Reply::Type::integer;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
    case REDIS_REPLY_STRING:
      reply.type = from.type == REDIS_REPLY_STATUS  ? Reply::Type::status
                   : from.type == REDIS_REPLY_ERROR ? Reply::Type::error
                                                    : Reply::Type::bulk;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_NIL: break;
    case REDIS_REPLY_ARRAY:
      reply.type = Reply::Type::array;
      for (std::size_t i = 0; i < from.elements; ++i) reply.items.push_back(value_of(*from.element[i]));
      break;
    default: throw std::runtime_error("hiredis: a reply of RESP3, expected RESP2");
  }
  return reply;
}

void append(redisContext& context, const std::vector<std::string>& command) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& argument : command) {
    texts.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  if (redisAppendCommandArgv(&context, static_cast<int>(command.size()), texts.data(), lengths.data()) !=
      REDIS_OK)
    fail(context);
}

// shutdown() and not close(): the descriptor stays this connection's until the destructor.
void cut(redisContext& context) noexcept { ::shutdown(context.fd, SHUT_RDWR); }

// Keeps a SIGPIPE from the program while hiredis writes on this thread: it writes as to a file, and where the
// server or cut() has ended the connection the system raises one.
class NoSigpipe {
 public:
  NoSigpipe() noexcept {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    was_pending_ = pending();
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~NoSigpipe() {
    const int error = errno;
    const timespec at_once{};
    if (!was_pending_ && pending()) ::sigtimedwait(&sigpipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  static bool pending() noexcept {
    sigset_t signals;
    return ::sigpending(&signals) == 0 && sigismember(&signals, SIGPIPE) == 1;
  }

  sigset_t sigpipe_{}, before_{};
  bool was_pending_ = false;
};

class HiredisCommands final : public CommandConnection {
 public:
  explicit HiredisCommands(Context context) : context_(std::move(context)) {}

  std::vector<Reply> execute(const std::vector<std::vector<std::string>>& commands) override {
    const NoSigpipe quiet;
    for (const std::vector<std::string>& command : commands) append(*context_, command);
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      void* got = nullptr;
      if (redisGetReply(context_.get(), &got) != REDIS_OK || got == nullptr) fail(*context_);
      const Received received(static_cast<redisReply*>(got));
      replies.push_back(value_of(*received));
    }
    return replies;
  }
  void cancel() noexcept override { cut(*context_); }

 private:
  const Context context_;
};

class HiredisMessages final : public MessageConnection {
 public:
  explicit HiredisMessages(Context context) : context_(std::move(context)) {}

  void send(const std::vector<std::string>& command) override {
    const NoSigpipe quiet;
    append(*context_, command);
    for (int done = 0; done == 0;) {
      if (redisBufferWrite(context_.get(), &done) != REDIS_OK) fail(*context_);
    }
  }

  std::optional<Reply> receive(Duration patience) override {
    using std::chrono::milliseconds;
    for (bool waited = false;; waited = true) {
      void* got = nullptr;
      if (redisGetReplyFromReader(context_.get(), &got) != REDIS_OK) fail(*context_);
      if (got != nullptr) {
        const Received received(static_cast<redisReply*>(got));
        return value_of(*received);
      }
      pollfd waits{.fd = context_->fd, .events = POLLIN, .revents = 0};
      // Once more after the whole patience: half a reply may have come.
      const auto most = waited ? milliseconds(0) : std::chrono::ceil<milliseconds>(patience);
      if (::poll(&waits, 1, static_cast<int>(std::min<milliseconds::rep>(most.count(), 60'000))) <= 0)
        return std::nullopt;
      if (redisBufferRead(context_.get()) != REDIS_OK) fail(*context_);
    }
  }
  void cancel() noexcept override { cut(*context_); }

 private:
  const Context context_;
};

}  // namespace

CommandConnections hiredis_connections(
    std::function<redisContext*(const Endpoint& to, Duration patience)> connect) {
  const auto connected = [connect = std::move(connect)](const Endpoint& to, Duration patience) {
    Context context(connect(to, patience));
    if (context == nullptr) throw std::runtime_error("the application made no hiredis context");
    if (context->err != 0) fail(*context);
    return context;
  };
  return {.commands =
              [connected](const Endpoint& to, Duration patience) {
                return std::make_unique<HiredisCommands>(connected(to, patience));
              },
          .messages =
              [connected](const Endpoint& to, Duration patience) {
                return std::make_unique<HiredisMessages>(connected(to, patience));
              }};
}

}  // namespace holdfast::redis
