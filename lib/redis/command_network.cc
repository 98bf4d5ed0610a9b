#include "lib/redis/command_network.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "lib/redis/reply_reader.h"
#include "lib/redis/reply_writer.h"
#include "lib/runtime/check.h"

namespace holdfast::redis {
namespace {

using Command = std::vector<std::string>;

// How long one receive() may keep what is to be sent waiting.
constexpr Duration kTurn = std::chrono::milliseconds(20);

bool is_about_messages(const Command& command) {
  std::string name = command.front();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  return name == "SUBSCRIBE" || name == "SSUBSCRIBE";
}

// What is written to it are commands; what is read are their replies. Its task stands between.
class CommandStream final : public Stream {
 public:
  CommandStream(Runtime& runtime, std::shared_ptr<const CommandConnections> connections,
                std::unique_ptr<CommandConnection> commands, Endpoint peer, Duration patience)
      : connections_(std::move(connections)),
        peer_(std::move(peer)),
        patience_(patience),
        mutex_(runtime),
        changed_(runtime),
        commands_(std::move(commands)),
        task_(runtime.spawn("commands", [this] { work(); })) {}
  ~CommandStream() override {
    close();
    task_.join();
  }

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    HF_CHECK(!into.empty(), "read into nothing");
    Lock lock(mutex_);
    const bool in_time =
        changed_.wait_until(lock, deadline, [&] { return closed_ || broken_ || !replies_.empty(); });
    if (closed_) return {IoStatus::closed, 0};
    if (!replies_.empty()) {
      const std::size_t bytes = std::min(into.size(), replies_.size());
      std::copy_n(replies_.begin(), bytes, into.begin());
      replies_.erase(0, bytes);
      return {IoStatus::ok, bytes};
    }
    return {in_time ? IoStatus::reset : IoStatus::timed_out, 0};
  }

  // Takes all at once.
  IoResult write(std::string_view bytes, MonotonicTime) override {
    const Lock lock(mutex_);
    if (closed_) return {IoStatus::closed, 0};
    if (broken_) return {IoStatus::reset, 0};
    requests_.feed(bytes);
    Reply request;
    ReplyReader::Next next;
    while ((next = requests_.next(request)) == ReplyReader::Next::reply) {
      HF_CHECK(request.type == Reply::Type::array && !request.items.empty(), "a client writes commands");
      Command& command = queue_.emplace_back();
      for (Reply& item : request.items) command.push_back(std::move(item.text));
    }
    HF_CHECK(next != ReplyReader::Next::broken, "a client writes RESP");
    changed_.notify_all();
    return {IoStatus::ok, bytes.size()};
  }

  void finish_writing() noexcept override { close(); }
  void close() noexcept override {
    try {
      const Lock lock(mutex_);
      closed_ = true;
      if (commands_) commands_->cancel();
      if (messages_) messages_->cancel();
      changed_.notify_all();
    } catch (const TaskCancelled&) {  // the process is being killed
    }
  }
  void reset() noexcept override { close(); }

  Endpoint local() const override { return {}; }
  Endpoint peer() const override { return peer_; }
  std::string trouble() const override {
    const Lock lock(mutex_);
    return trouble_;
  }

 private:
  using Lock = std::unique_lock<Mutex>;

  void work() {
    Lock lock(mutex_);
    try {
      while (wait_for_commands(lock)) {
        std::vector<Command> batch = take();
        lock.unlock();
        std::vector<Reply> replies;
        if (!batch.empty()) {
          replies = commands_->execute(batch);
          if (replies.size() != batch.size())
            throw std::runtime_error(std::to_string(batch.size()) + " commands got " +
                                     std::to_string(replies.size()) + " replies");
        }
        lock.lock();
        for (const Reply& reply : replies) append_reply(replies_, reply);
        changed_.notify_all();
        if (!queue_.empty() && is_about_messages(queue_.front())) return pass_messages(lock);
      }
    } catch (const std::exception& error) {
      if (!lock.owns_lock()) lock.lock();
      broken_ = true;
      trouble_ = error.what();
      changed_.notify_all();
    }
  }

  // False: the stream was closed.
  bool wait_for_commands(Lock& lock) {
    changed_.wait_until(lock, kNever, [&] { return closed_ || !queue_.empty(); });
    return !closed_;
  }

  // Those in front of the first SUBSCRIBE.
  std::vector<Command> take() {
    const auto end = std::find_if(queue_.begin(), queue_.end(), is_about_messages);
    std::vector<Command> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    return batch;
  }

  // From the first SUBSCRIBE on: over a connection for messages.
  void pass_messages(Lock& lock) {
    lock.unlock();
    std::unique_ptr<MessageConnection> made = connections_->messages(peer_, patience_);
    if (made == nullptr) throw std::runtime_error("the application made no connection for messages");
    lock.lock();
    messages_ = std::move(made);
    while (!closed_) {
      const std::vector<Command> batch = std::exchange(queue_, {});
      lock.unlock();
      for (const Command& command : batch) messages_->send(command);
      const std::optional<Reply> message = messages_->receive(kTurn);
      lock.lock();
      if (!message) continue;
      append_reply(replies_, *message);
      changed_.notify_all();
    }
  }

  const std::shared_ptr<const CommandConnections> connections_;
  const Endpoint peer_;
  const Duration patience_;

  mutable Mutex mutex_;  // guards what follows
  Condition changed_;
  const std::unique_ptr<CommandConnection> commands_;
  std::unique_ptr<MessageConnection> messages_;  // set once
  ReplyReader requests_{ReplyReader::kUnbounded, ReplyReader::kUnbounded};
  std::vector<Command> queue_;  // not taken yet
  std::string replies_;         // not read yet
  std::string trouble_;
  bool closed_ = false, broken_ = false;

  Task task_;  // last: it uses all of them
};

}  // namespace

CommandNetwork::CommandNetwork(Runtime& runtime, CommandConnections connections)
    : runtime_(runtime), connections_(std::make_shared<const CommandConnections>(std::move(connections))) {
  HF_CHECK(connections_->commands && connections_->messages,
           "an application makes both kinds of connections");
}

Connected CommandNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  const Duration patience = std::max(Duration::zero(), deadline - runtime_.now());
  try {
    std::unique_ptr<CommandConnection> made = connections_->commands(to, patience);
    if (made == nullptr) return {IoStatus::unreachable, nullptr, "the application made no connection"};
    return {IoStatus::ok,
            std::make_unique<CommandStream>(runtime_, connections_, std::move(made), to, patience)};
  } catch (const std::exception& error) {
    return {IoStatus::unreachable, nullptr, error.what()};
  }
}

std::unique_ptr<Listener> CommandNetwork::listen(const Endpoint& at) {
  throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                          "a CommandNetwork cannot listen at " + at.to_string());
}

}  // namespace holdfast::redis
