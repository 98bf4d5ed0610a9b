#include "lib/testing/faulty_link.h"

#include <array>
#include <mutex>

namespace holdfast::testing {

FaultyLink::FaultyLink(Runtime& runtime, Network& network, Endpoint upstream)
    : runtime_(runtime),
      network_(network),
      upstream_(std::move(upstream)),
      listener_(network.listen({"127.0.0.1", 0})),
      mutex_(runtime),
      changed_(runtime) {
  endpoint_ = listener_->endpoint();
  acceptor_ = runtime_.spawn("relay", [this] { accept_all(); });
}

FaultyLink::~FaultyLink() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    listener_->close();
    acceptor_.join();
    for (Link& link : links_) {
      link.client->close();
      link.server->close();
    }
    links_.clear();  // joins
  } catch (const TaskCancelled&) {
  }
}

void FaultyLink::lose_reply_to(std::string needle, int times) {
  const std::scoped_lock guard(mutex_);
  needle_ = std::move(needle);
  to_lose_ = times;
  lose_requests_ = false;
}

void FaultyLink::lose_request_with(std::string needle, int times) {
  const std::scoped_lock guard(mutex_);
  needle_ = std::move(needle);
  to_lose_ = times;
  lose_requests_ = true;
}

int FaultyLink::to_lose() {
  const std::scoped_lock guard(mutex_);
  return to_lose_;
}

void FaultyLink::hold_request(std::string needle) {
  const std::scoped_lock guard(mutex_);
  held_needle_ = std::move(needle);
}

void FaultyLink::wait_held() {
  std::unique_lock guard(mutex_);
  changed_.wait_until(guard, kNever, [this] { return held_; });
}

void FaultyLink::release_request() {
  const std::scoped_lock guard(mutex_);
  held_ = false;
  changed_.notify_all();
}

void FaultyLink::stall(bool on) {
  const std::scoped_lock guard(mutex_);
  stalled_ = on;
  changed_.notify_all();
}

void FaultyLink::count(std::string needle) {
  const std::scoped_lock guard(mutex_);
  counted_needle_ = std::move(needle);
  counted_ = 0;
}

void FaultyLink::wait_while_stalled() {
  std::unique_lock guard(mutex_);
  changed_.wait_until(guard, kNever, [this] { return !stalled_ || closing_; });
}

void FaultyLink::accept_all() {
  for (;;) {
    Connected connected = listener_->accept(kNever);
    if (connected.status == IoStatus::closed) return;
    if (connected.status != IoStatus::ok) continue;
    Connected upstream = network_.connect(upstream_, kNever);
    if (upstream.status != IoStatus::ok) continue;
    Link& link = links_.emplace_back();
    link.client = std::move(connected.stream);
    link.server = std::move(upstream.stream);
    link.tasks.push_back(runtime_.spawn("relay", [this, &link] { up(link); }));
    link.tasks.push_back(runtime_.spawn("relay", [this, &link] { down(link); }));
  }
}

void FaultyLink::up(Link& link) {
  std::array<char, 16384> chunk;
  for (;;) {
    const IoResult got = link.client->read(chunk, kNever);
    if (!got.ok()) break;
    const std::string_view bytes(chunk.data(), got.bytes);
    wait_while_stalled();
    {
      std::unique_lock guard(mutex_);
      if (!counted_needle_.empty()) {
        for (auto at = bytes.find(counted_needle_); at != bytes.npos;
             at = bytes.find(counted_needle_, at + 1))
          ++counted_;
      }
      if (to_lose_ > 0 && bytes.find(needle_) != bytes.npos) {
        --to_lose_;
        link.lose = true;
        if (lose_requests_) break;
      }
      if (!held_needle_.empty() && bytes.find(held_needle_) != bytes.npos) {
        held_needle_.clear();
        held_ = true;
        changed_.notify_all();
        changed_.wait_until(guard, kNever, [this] { return !held_ || closing_; });
      }
    }
    if (!link.server->write(bytes, kNever).ok()) break;
  }
  link.server->close();
  if (link.lose) link.client->reset();
}

void FaultyLink::down(Link& link) {
  std::array<char, 16384> chunk;
  for (;;) {
    const IoResult got = link.server->read(chunk, kNever);
    if (!got.ok()) break;
    wait_while_stalled();
    if (link.lose) {
      link.server->close();
      link.client->reset();
      return;
    }
    if (!link.client->write({chunk.data(), got.bytes}, kNever).ok()) break;
  }
  link.client->close();
}

}  // namespace holdfast::testing
