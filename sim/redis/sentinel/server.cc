#include "sim/redis/sentinel/server.h"

#include <chrono>
#include <list>
#include <utility>

#include "sim/redis/connection.h"
#include "sim/redis/engine.h"
#include "sim/redis/sentinel/sentinel.h"

namespace holdfast::sim {

using embedded::Connection;
using embedded::Engine;
using embedded::Sentinel;

class SentinelServer::Impl : public std::enable_shared_from_this<SentinelServer::Impl> {
 public:
  Impl(Runtime& runtime, Network& network, embedded::SentinelOptions options)
      : runtime_(runtime), listener_(network.listen(options.listen)) {
    engine_ = std::make_shared<Engine>(runtime_, embedded::PersistenceMode::none, nullptr,
                                       listener_->endpoint().port);
    const auto start = [this](std::function<void()> body) {
      if (stopped_) return;
      reap(links_, reap_links_from_);
      links_.push_back(runtime_.spawn("sentinel-link", std::move(body)));
    };
    sentinel_ = std::make_unique<Sentinel>(runtime_, network, *engine_, std::move(options), start);
    engine_->answer_instead = [this](embedded::Session& session, embedded::Args argv) {
      return sentinel_->answer(session, argv);
    };
  }

  Endpoint endpoint() const { return listener_->endpoint(); }

  void serve() {
    try {
      accept_all();
    } catch (...) {  // the process is killed: what its tasks use goes after them
      end_tasks();
      throw;
    }
    end_tasks();
  }

  void stop() {
    stopped_ = true;
    listener_->close();
  }

 private:
  void accept_all() {
    watch_ = runtime_.spawn("sentinel", [self = shared_from_this()] {
      while (!self->stopped_) {
        self->sentinel_->tick();
        self->runtime_.sleep_for(std::chrono::milliseconds(self->sentinel_->next_tick_in_ms()));
      }
    });
    while (!stopped_) {
      Connected connected = listener_->accept(kNever);
      if (connected.status != IoStatus::ok) break;
      reap(connections_, reap_connections_from_);
      auto connection = std::make_shared<Connection>(runtime_, engine_, std::move(connected.stream));
      connections_.push_back(runtime_.spawn("redis", [connection, self = shared_from_this()] {
        connection->serve();
        if (self->engine_->shutdown_requested()) self->stop();
      }));
    }
  }

  void end_tasks() {
    stopped_ = true;
    sentinel_->stop();
    for (const auto& [id, session] : engine_->sessions()) {
      if (session->transport != nullptr) session->transport->close();
    }
    watch_ = Task();  // joins, as all of these
    connections_.clear();
    links_.clear();
    engine_->answer_instead = nullptr;
  }

  static void reap(std::list<Task>& tasks, std::size_t& from) {
    if (tasks.size() < from) return;
    tasks.remove_if([](const Task& task) { return task.finished(); });
    from = 2 * tasks.size() + 16;
  }

  Runtime& runtime_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Sentinel> sentinel_;
  std::list<Task> connections_, links_;
  std::size_t reap_connections_from_ = 16, reap_links_from_ = 16;
  Task watch_;
  bool stopped_ = false;
};

SentinelServer::SentinelServer(Runtime& runtime, Network& network, embedded::SentinelOptions options)
    : impl_(std::make_shared<Impl>(runtime, network, std::move(options))) {}
SentinelServer::~SentinelServer() = default;
Endpoint SentinelServer::endpoint() const { return impl_->endpoint(); }
void SentinelServer::serve() { impl_->serve(); }
void SentinelServer::stop() { impl_->stop(); }

}  // namespace holdfast::sim
