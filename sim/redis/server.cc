#include "sim/redis/server.h"

#include <chrono>
#include <list>
#include <stdexcept>

#include "lib/runtime/check.h"
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/connection.h"
#include "sim/redis/replica_link.h"
#include "sim/redis/shown_parker.h"
#include "sim/redis/transfer.h"

namespace holdfast::sim {

using embedded::Connection;
using embedded::Engine;
using embedded::ReplicaLink;

class RedisServer::Impl : public std::enable_shared_from_this<RedisServer::Impl> {
 public:
  Impl(Runtime& runtime, Network& network, RedisServerOptions options)
      : runtime_(runtime), network_(network), options_(std::move(options)) {
    listener_ = network_.listen(options_.listen);
    const std::uint16_t port = listener_->endpoint().port;
    engine_ = std::make_shared<Engine>(runtime_, options_.persistence, options_.disk, port);
    for (const auto& [name, value] : options_.settings) {
      const std::string why_not =
          engine_->config().knows(name) ? engine_->config().set(name, value) : "unknown setting";
      if (!why_not.empty()) throw std::invalid_argument(name + " " + value + ": " + why_not);
    }
    if (engine_->config().append_only) engine_->set_append_only(true);
    engine_->set_witness(options_.witness);
    engine_->set_loads(options_.loads);
    link_ = std::make_shared<ReplicaLink>(runtime_, network_, engine_,
                                          options_.announced_port != 0 ? options_.announced_port : port,
                                          options_.announced_host);
    engine_->on_config_rewrite = options_.on_config_rewrite;
    if (options_.cluster) {
      bus_ = std::make_shared<embedded::Bus>(runtime_, network_, options_.cluster->bus);
      cluster_ = std::make_unique<embedded::Cluster>(runtime_, *engine_, *bus_, *options_.cluster);
      engine_->set_cluster(cluster_.get());
      options_.primary = cluster_->primary();
    }
    engine_->on_primary_changed = [this] {
      if (!link_task_.joinable()) start_link();
      link_->poke();
    };
    engine_->on_ticks_needed = [this] { wake_clock(); };
    engine_->on_script_paused = [this] { run_script(); };
    engine_->on_transfer = [this](const embedded::Transfer& transfer) {
      transfer_task_ = runtime_.spawn("redis-migrate", [self = shared_from_this(), transfer] {
        const embedded::Carried carried = embedded::carry(self->runtime_, self->network_, transfer);
        if (!self->stopped_) self->engine_->end_transfer(carried.arrived, carried.reply);
      });
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

  bool ready() const {
    const auto& replication = engine_->replication();
    return !replication.is_replica() || replication.link_state() == embedded::LinkState::connected;
  }

  void disk_is_quicker() { engine_->disk_is_quicker(); }
  void finish_loading() {
    engine_->set_loads(false);
    link_->poke();
    engine_->finish_batch();
  }

 private:
  void accept_all() {
    engine_->begin_replication(options_.primary);
    engine_->finish_batch();
    if (cluster_) start_cluster();
    while (!stopped_) {
      Connected connected = listener_->accept(kNever);
      if (connected.status != IoStatus::ok) break;
      reap();
      auto connection = std::make_shared<Connection>(runtime_, engine_, std::move(connected.stream));
      connections_.push_back(runtime_.spawn("redis", [connection, self = shared_from_this()] {
        connection->serve();
        if (self->engine_->shutdown_requested()) self->stop();
      }));
    }
  }

  void end_tasks() {
    stopped_ = true;
    for (const auto& [id, session] : engine_->sessions()) {
      if (session->transport != nullptr) session->transport->close();
    }
    if (options_.on_end) std::exchange(options_.on_end, nullptr)();
    link_->stop();
    if (cluster_) {
      cluster_->stop();
      bus_->stop();
      if (cron_parker_ != nullptr) cron_parker_->unpark();
      cron_task_ = Task();  // joins, as all of these
      bus_task_ = Task();
      bus_->end_tasks();
    }
    if (clock_parker_ != nullptr) clock_parker_->unpark();
    connections_.clear();  // joins
    link_task_ = Task();
    clock_task_ = Task();
    script_task_ = Task();
    transfer_task_ = Task();
    engine_->on_transfer = nullptr;
    engine_->on_primary_changed = nullptr;
    engine_->on_script_paused = nullptr;
    engine_->on_ticks_needed = nullptr;
  }

  void reap() {
    if (connections_.size() < reap_from_) return;
    connections_.remove_if([](const Task& task) { return task.finished(); });
    reap_from_ = 2 * connections_.size() + 16;
  }

  void start_cluster() {
    bus_task_ = runtime_.spawn("redis-bus", [self = shared_from_this()] {
      self->bus_->serve(
          [cluster = self->cluster_.get()](const embedded::BusMessage& message, embedded::BusLink* from,
                                           embedded::BusLink& on) { cluster->hear(message, from, on); });
    });
    cron_task_ = runtime_.spawn("redis-cron", [self = shared_from_this()] {
      constexpr std::int64_t kTickMs = embedded::Cluster::kTickMs;
      Runtime& runtime = self->runtime_;
      const ShownParker shown(self->cron_parker_, runtime.parker());
      // Nodes are not in step.
      MonotonicTime next = runtime.now() + std::chrono::milliseconds(runtime.random_between(0, kTickMs - 1));
      while (!self->stopped_) {
        while (!self->stopped_ && runtime.now() < next) self->cron_parker_->park_until(next);
        if (self->stopped_) break;
        self->cluster_->tick();
        next = runtime.now() + std::chrono::milliseconds(kTickMs);
      }
    });
  }

  void start_link() {
    if (stopped_) return;
    link_task_ = runtime_.spawn("redis-link", [link = link_] { link->serve(); });
  }

  // A task for as long as a script takes time.
  void run_script() {
    if (stopped_ || script_runs_) return;
    script_runs_ = true;
    script_task_ = runtime_.spawn("redis-script", [self = shared_from_this()] {
      while (!self->stopped_ && self->engine_->script_paused()) {
        self->runtime_.sleep_for(std::chrono::milliseconds(self->engine_->script_rest_ms()));
        if (!self->stopped_) self->engine_->continue_script();
      }
      self->script_runs_ = false;
    });
  }

  void wake_clock() {
    if (stopped_ || clock_running_) return;
    clock_running_ = true;
    if (clock_parker_ != nullptr) {
      clock_parker_->unpark();
    } else if (!clock_task_.joinable()) {
      clock_task_ = runtime_.spawn("redis-clock", [self = shared_from_this()] { self->keep_time(); });
    }
  }

  // Ticks on a grid of 100 ms while there is something to wait for, else sleeps.
  void keep_time() {
    constexpr auto kTick = std::chrono::milliseconds(Engine::kTickMs);
    const ShownParker shown(clock_parker_, runtime_.parker());
    while (!stopped_) {
      if (!clock_running_) {
        clock_parker_->park_until(kNever);
        continue;
      }
      const auto since = runtime_.now().time_since_epoch();
      const MonotonicTime next{(since / kTick + 1) * kTick};
      while (!stopped_ && runtime_.now() < next) clock_parker_->park_until(next);
      while (!stopped_ && runtime_.now() < engine_->still_until())
        runtime_.sleep_until(engine_->next_look_at_disk());
      if (stopped_) break;
      engine_->tick();
      clock_running_ = engine_->needs_ticks();
    }
  }

  Runtime& runtime_;
  Network& network_;
  RedisServerOptions options_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<ReplicaLink> link_;
  std::shared_ptr<embedded::Bus> bus_;  // of a node of a Redis Cluster
  std::unique_ptr<embedded::Cluster> cluster_;
  std::list<Task> connections_;
  std::size_t reap_from_ = 16;
  Task link_task_, clock_task_, script_task_, transfer_task_;
  Task bus_task_, cron_task_;
  Parker *clock_parker_ = nullptr, *cron_parker_ = nullptr;
  bool clock_running_ = false, script_runs_ = false, stopped_ = false;
};

RedisServer::RedisServer(Runtime& runtime, Network& network, RedisServerOptions options)
    : impl_(std::make_shared<Impl>(runtime, network, std::move(options))) {}
RedisServer::~RedisServer() = default;
Endpoint RedisServer::endpoint() const { return impl_->endpoint(); }
void RedisServer::serve() { impl_->serve(); }
void RedisServer::stop() { impl_->stop(); }
bool RedisServer::ready() const { return impl_->ready(); }
void RedisServer::finish_loading() { impl_->finish_loading(); }
void RedisServer::disk_is_quicker() { impl_->disk_is_quicker(); }

}  // namespace holdfast::sim
