#include "sim/redis/cluster/bus.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace holdfast::sim::embedded {
namespace {

constexpr std::chrono::minutes kConnectLimit{2};  // about as long as the kernel tries

}  // namespace

// --- BusLink ---------------------------------------------------------------------------------------------

void BusLink::send(const BusMessage& message) {
  if (!open_) return;
  if (stream_) {
    write(to_bytes(message));
  } else {
    unsent_ += to_bytes(message);
  }
}

// Whoever does not even take that is stuck.
void BusLink::write(std::string_view bytes) {
  const std::shared_ptr<Stream> stream = stream_;
  if (stream->write(bytes, MonotonicTime{}).bytes < bytes.size()) close();
}

void BusLink::close() {
  open_ = false;
  unsent_.clear();
  if (stream_) stream_->close();
}

// --- Bus -------------------------------------------------------------------------------------------------

Bus::Bus(Runtime& runtime, Network& network, const Endpoint& listen)
    : runtime_(runtime), network_(network), listener_(network.listen(listen)) {}

void Bus::serve(OnMessage on_message) {
  on_message_ = std::move(on_message);
  while (!stopped_) {
    Connected connected = listener_->accept(kNever);
    if (connected.status != IoStatus::ok) break;
    auto link = std::make_shared<BusLink>();
    link->stream_ = std::move(connected.stream);
    link->opened_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(runtime_.wall_now().time_since_epoch()).count();
    links_.push_back(link);
    start([self = shared_from_this(), link] { self->read(link, false); });
  }
}

std::shared_ptr<BusLink> Bus::connect(const Endpoint& to) {
  auto link = std::make_shared<BusLink>();
  links_.push_back(link);
  start([self = shared_from_this(), link, to] {
    Connected connected = self->network_.connect(to, self->runtime_.now() + kConnectLimit);
    if (connected.status != IoStatus::ok || !link->open_) return link->close();
    link->stream_ = std::move(connected.stream);
    const std::string unsent = std::exchange(link->unsent_, {});
    if (!unsent.empty()) link->write(unsent);
    self->read(link, true);
  });
  return link;
}

void Bus::read(const std::shared_ptr<BusLink>& link, bool own) {
  const std::shared_ptr<Stream> stream = link->stream_;
  BusReader reader;
  std::array<char, 4096> buffer;
  while (link->open_ && !stopped_) {
    const IoResult got = stream->read(buffer, kNever);
    if (!got.ok()) break;
    reader.feed({buffer.data(), got.bytes});
    while (const std::optional<BusMessage> message = reader.next()) {
      if (!link->open_ || stopped_) break;
      on_message_(*message, own ? link.get() : nullptr, *link);
    }
    if (reader.broken()) break;
  }
  link->close();
}

void Bus::start(std::function<void()> body) {
  if (stopped_) return;
  if (tasks_.size() >= reap_from_) {
    tasks_.remove_if([](const Task& task) { return task.finished(); });
    links_.remove_if([](const std::weak_ptr<BusLink>& link) { return link.expired(); });
    reap_from_ = 2 * tasks_.size() + 32;
  }
  tasks_.push_back(runtime_.spawn("redis-bus", std::move(body)));
}

void Bus::stop() {
  stopped_ = true;
  listener_->close();
  for (const std::weak_ptr<BusLink>& weak : links_) {
    if (const auto link = weak.lock()) link->close();
  }
}

void Bus::end_tasks() {
  tasks_.clear();  // joins
  on_message_ = nullptr;
}

}  // namespace holdfast::sim::embedded
