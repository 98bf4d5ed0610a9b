// Connection: one stream and its session. One task reads and answers; a second one, made when first needed,
// writes what others push (messages, replication).
#pragma once

#include <memory>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

class Connection final : public Transport, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Runtime& runtime, std::shared_ptr<Engine> engine, std::unique_ptr<Stream> stream);

  void serve();  // [parks] until the connection ends
  void output_ready() noexcept override;
  void close() noexcept override { stream_->close(); }

 private:
  void serve_requests();
  void flush();
  void wait_for_disk();  // while the server stands still  // [parks] unless another task is flushing already
  void write_loop();

  Runtime& runtime_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<Session> session_;
  std::string sending_;
  bool writing_ = false, ended_ = false;
  Task writer_;
  Parker* writer_parker_ = nullptr;
};

}  // namespace holdfast::sim::embedded
