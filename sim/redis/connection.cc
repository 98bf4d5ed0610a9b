#include "sim/redis/connection.h"

#include <array>

#include "sim/redis/shown_parker.h"

namespace holdfast::sim::embedded {

Connection::Connection(Runtime& runtime, std::shared_ptr<Engine> engine, std::unique_ptr<Stream> stream)
    : runtime_(runtime), engine_(std::move(engine)), stream_(std::move(stream)) {
  session_ = engine_->open_session(this, stream_->peer().to_string(), stream_->local().to_string());
}

void Connection::flush() {
  if (writing_) return;
  writing_ = true;
  while (!session_->out.bytes.empty()) {
    if (engine_->holds_output()) {  // it is handed out later
      engine_->push(*session_);
      break;
    }
    wait_for_disk();
    sending_.clear();
    sending_.swap(session_->out.bytes);
    if (!stream_->write(sending_, kNever).ok()) {
      stream_->close();
      session_->out.bytes.clear();
      break;
    }
  }
  if (sending_.capacity() > 16 * 1024) sending_ = std::string();
  writing_ = false;
  if (session_->close_after_reply) stream_->close();
}

void Connection::wait_for_disk() {
  while (runtime_.now() < engine_->still_until()) runtime_.sleep_until(engine_->next_look_at_disk());
}

void Connection::output_ready() noexcept {
  if (ended_) return;
  if (!writer_.joinable()) {
    writer_ = runtime_.spawn("redis-writer", [self = shared_from_this()] { self->write_loop(); });
  } else if (writer_parker_ != nullptr) {
    writer_parker_->unpark();
  }
}

void Connection::write_loop() {
  const ShownParker shown(writer_parker_, runtime_.parker());
  while (!ended_) {
    flush();
    if (ended_) break;
    writer_parker_->park_until(kNever);
  }
}

void Connection::serve() {
  try {
    serve_requests();
  } catch (...) {  // the process is killed
    ended_ = true;
    session_->transport = nullptr;
    writer_ = Task();  // joined before what it uses goes
    throw;
  }
  ended_ = true;
  session_->transport = nullptr;
  stream_->close();
  engine_->close_session(*session_);
  engine_->finish_batch();
  if (writer_parker_ != nullptr) writer_parker_->unpark();
  writer_.join();
}

void Connection::serve_requests() {
  constexpr std::size_t kChunk = 512;
  std::array<char, 256> aside;  // while the session is blocked its input belongs to the engine
  std::size_t chunk = kChunk;
  while (true) {
    IoResult got;
    if (session_->blocked != Blocked::no) {
      got = stream_->read(aside, kNever);
      if (got.ok()) session_->in.append(aside.data(), got.bytes);
    } else {
      const std::size_t held = session_->in.size();
      session_->in.resize(held + chunk);
      got = stream_->read(std::span(session_->in).subspan(held), kNever);
      session_->in.resize(held + (got.ok() ? got.bytes : 0));
      chunk = got.bytes == chunk ? std::min<std::size_t>(chunk * 4, 64 * 1024) : kChunk;
    }
    if (!got.ok() || session_->closed) break;
    wait_for_disk();
    if (session_->blocked == Blocked::no && !session_->closed) engine_->process(*session_);
    flush();
    if (session_->closed || session_->close_after_reply) break;
  }
}

}  // namespace holdfast::sim::embedded
