#include "sim/redis/sentinel/link.h"

#include <array>
#include <chrono>
#include <utility>

#include "lib/redis/reply_reader.h"
#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::chrono::minutes kConnectLimit{2};  // about as long as the kernel tries

}  // namespace

SentinelLink::SentinelLink(Runtime& runtime, Network& network, Endpoint to, Start start,
                           std::function<void()> on_broken, OnReply on_message)
    : runtime_(runtime),
      network_(network),
      to_(std::move(to)),
      start_(std::move(start)),
      on_broken_(std::move(on_broken)),
      on_message_(std::move(on_message)) {}

void SentinelLink::open() {
  open_ = true;
  awaited_.clear();
  unsent_.clear();
  const std::uint64_t generation = ++generation_;
  start_([self = shared_from_this(), generation] {
    self->run(generation);
    if (generation != self->generation_ || !self->open_) return;
    self->close();
    self->on_broken_();
  });
}

void SentinelLink::close() {
  open_ = false;
  if (stream_) stream_->close();
  stream_.reset();
  awaited_.clear();
  unsent_.clear();
}

void SentinelLink::send(std::initializer_list<std::string_view> command, OnReply on_reply) {
  if (!open_) return;
  std::string bytes;
  append_request(bytes, {command.begin(), command.size()});
  awaited_.push_back(std::move(on_reply));
  if (stream_) {
    write(bytes);
  } else {
    unsent_ += bytes;
  }
}

// Whoever does not even take that is stuck.
void SentinelLink::write(std::string_view bytes) {
  const std::shared_ptr<Stream> stream = stream_;
  if (stream->write(bytes, MonotonicTime{}).bytes < bytes.size()) stream->close();
}

void SentinelLink::run(std::uint64_t generation) {
  Connected connected = network_.connect(to_, runtime_.now() + kConnectLimit);
  if (connected.status != IoStatus::ok || generation != generation_ || !open_) return;
  stream_ = std::move(connected.stream);
  const std::shared_ptr<Stream> stream = stream_;
  if (!unsent_.empty()) write(std::exchange(unsent_, {}));
  redis::ReplyReader reader;
  redis::Reply reply;
  std::array<char, 4096> buffer;
  while (generation == generation_ && open_) {
    const IoResult got = stream->read(buffer, kNever);
    if (!got.ok()) return;
    reader.feed({buffer.data(), got.bytes});
    redis::ReplyReader::Next next;
    while ((next = reader.next(reply)) == redis::ReplyReader::Next::reply) {
      if (generation != generation_ || !open_) return;
      if (on_message_ && reply.items.size() == 3) {
        on_message_(reply);
        continue;
      }
      if (awaited_.empty()) return;
      const OnReply on_reply = std::move(awaited_.front());
      awaited_.pop_front();
      if (on_reply) on_reply(reply);
    }
    if (next == redis::ReplyReader::Next::broken) return;
  }
}

}  // namespace holdfast::sim::embedded
