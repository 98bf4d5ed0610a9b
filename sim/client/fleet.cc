#include "sim/client/fleet.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <system_error>

#include "lib/lock/waiting/wakeup.h"

namespace holdfast::sim {
namespace {

// 3 for "c3", and for its child "c3-child-1".
int number_of(std::string_view client) {
  int number = 0;
  std::from_chars(client.data() + 1, client.data() + client.size(), number);
  return number;
}

}  // namespace

// --- WorkThread ----------------------------------------------------------------------------------------

WorkThread::WorkThread(World& world, Process& process, const WorkloadOptions& options, WorkloadStats& stats,
                       ClientRecorder& recorder, redis::Client& server, LockSpace* locks, LatchSpace* latches,
                       const std::string& key, int number)
    : world_(world),
      process_(process),
      options_(options),
      stats_(stats),
      record_(recorder, number),
      pauses_(world.rng("client/" + process.name() + "/" + std::to_string(number))),
      works_(pauses_.child("work")),
      interrupts_(pauses_.child("interrupts")),
      readers_(pauses_.child("readers")),
      server_(server),
      locks_(locks),
      latches_(latches),
      number_(number),
      counts_permits_(lock_kind_of(options).counts_permits),
      always_writes_(options.writers && number_of(process.name()) <= *options.writers),
      key_(key) {
  if (locks != nullptr) obtain_locks();
}

void WorkThread::obtain_locks() {
  lock_ = exclusive_ = locks_->obtain(key_);
  if (options_.readers > 0 || options_.writers) shared_ = locks_->obtain_shared(exclusive_->key());
}

void WorkThread::begin_round() {
  if (options_.evict) obtain_locks();
  if (options_.interrupts > 0) {
    const bool interrupted = interrupts_.between(1, 100) <= static_cast<std::uint64_t>(options_.interrupts);
    interrupt_ = interrupted ? std::optional<std::stop_source>(std::in_place) : std::nullopt;
  }
  if (shared_ == nullptr) return;
  const bool drawn = readers_.between(1, 100) <= static_cast<std::uint64_t>(options_.readers);
  const bool reads = options_.writers ? !always_writes_ : drawn;
  lock_ = reads ? shared_ : exclusive_;
}

bool WorkThread::over() const { return options_.stop_at && world_.now_ns() >= options_.stop_at->count(); }

void WorkThread::pause(const DurationRange& of) {
  const Duration time = of.draw(pauses_);
  if (time > Duration::zero()) process_.runtime().sleep_for(time);
}

bool WorkThread::must_abort(Lock& lock) const {
  if (options_.on_lost == OnLost::abort) return !lock.is_held_by_me();
  if (options_.on_lost == OnLost::ignore) return false;
  try {
    return !locks_->still_held(lock);
  } catch (const LockError&) {  // nobody says so
    return true;
  }
}

void WorkThread::work(const DurationRange& of, const Lock& lock) {
  const Duration time = of.draw(works_);
  if (time <= Duration::zero()) return;
  Runtime& runtime = process_.runtime();
  if (options_.on_lost != OnLost::abort) return runtime.sleep_for(time);
  Wakeup(runtime).wait_until(deadline_after(runtime.now(), time), lock.lost());
}

bool WorkThread::wait_for(Lock& lock) {
  if (interrupt_) {
    const MonotonicTime end = options_.wait ? deadline_after(lock.runtime().now(), *options_.wait) : kNever;
    return lock.try_lock_until(end, interrupt_->get_token());
  }
  if (options_.wait) return lock.try_lock_for(*options_.wait);
  lock.lock();
  return true;
}

bool WorkThread::acquire(Lock& lock) {
  if (ask(lock, [&] { return wait_for(lock); })) return true;
  process_.runtime().sleep_for(options_.retry_pause);
  return false;
}

bool WorkThread::ask(Lock& lock, const std::function<bool()>& call) {
  const std::string& key = lock.key();
  record_.acquire_invoked(key, lock.mode(), counts_permits_ ? lock.permits() : 0);
  token_.reset();
  try {
    if (call()) {
      ++stats_.acquired;
      failed_ = false;
      if (const auto token = lock.token()) token_ = static_cast<std::int64_t>(*token);
      record_.acquire_ok(lock);
      return true;
    }
    ++stats_.refused;
    record_.acquire_failed(key, "timeout");
  } catch (const LockError& error) {
    ++stats_.failed;
    if (error.may_have_executed()) {
      record_.acquire_unknown(key, error.what());
    } else {
      record_.acquire_failed(key, error.what());
    }
  } catch (const std::system_error& error) {  // a published design that cannot start its watchdog
    ++stats_.failed;
    record_.acquire_unknown(key, error.what());
  }
  return false;
}

bool WorkThread::release() {
  const bool given_back = release(*lock_);
  if (options_.evict && lock_->hold_count() == 0) lock_ = exclusive_ = shared_ = nullptr;
  return given_back;
}

bool WorkThread::release(Lock& lock) {
  const std::string& key = lock.key();
  if (interrupt_ && interrupt_->request_stop()) record_.interrupted(key);
  if (options_.release == Release::on_error && !failed_) {
    record_.left(key);
    return true;
  }
  record_.release_invoked(key, lock.mode());
  try {
    if (options_.release == Release::if_held && !locks_->still_held(lock)) {
      ++stats_.lost;
      record_.release_failed(key, "not-owner");
      return false;
    }
    lock.release();
    ++stats_.released;
    record_.release_ok(key);
    return true;
  } catch (const NotOwner&) {
    ++stats_.lost;
    record_.release_failed(key, "not-owner");
  } catch (const LockLost&) {
    ++stats_.lost;
    record_.release_failed(key, "not-owner");
  } catch (const LockError& error) {
    if (error.may_have_executed()) {
      record_.release_unknown(key, error.what());
    } else {
      record_.release_failed(key, error.what());
    }
  } catch (const std::system_error& error) {  // a published design that cannot start its executor
    record_.release_unknown(key, error.what());
  }
  return false;
}

// --- Fleet ---------------------------------------------------------------------------------------------

Fleet::Fleet(World& world, Recorder& recorder, WorkloadOptions options)
    : world_(world), recorder_(recorder), options_(std::move(options)), kind_(lock_kind_of(options_)) {
  if (options_.clients < 1) throw std::invalid_argument("a workload needs at least one client");
  if (options_.threads < 1) throw std::invalid_argument("a client needs at least one thread");
  if (options_.retry_pause <= Duration::zero())
    throw std::invalid_argument("the retry pause must be positive");
  if (options_.permits < 1) throw std::invalid_argument("a semaphore needs at least one permit");
  if (options_.evict && !kind_.registry)
    throw std::invalid_argument("lock '" + options_.lock + "' keeps no registry of lock objects");
  if (options_.evict && *options_.evict <= Duration::zero())
    throw std::invalid_argument("the age of lock objects that are dropped must be positive");
  if ((options_.readers > 0 || options_.writers) && !kind_.shared)
    throw std::invalid_argument("lock '" + options_.lock + "' has no side for readers");
  for (int number = 1; number <= options_.clients; ++number) {
    auto client = std::make_unique<Client>();
    client->name = "c" + std::to_string(number);
    client->recorder = &recorder_.client(client->name);
    clients_.push_back(std::move(client));
  }
}

void Fleet::start() {
  if (kind_.counts_permits) tell_permits();
  prepare();
  for (const auto& client : clients_) launch(*client);
}

std::set<std::string> Fleet::keys() const {
  std::set<std::string> keys;
  for (const auto& client : clients_) {
    for (int number = 0; number < options_.threads; ++number) {
      keys.insert(key_of(client->name, number));
    }
  }
  return keys;
}

void Fleet::tell_permits() {
  for (const std::string& key : keys()) recorder_.permits(key, options_.permits);
}

void Fleet::launch(Client& client) { start_in(client, world_.add_process(client.name), {}); }

void Fleet::start_in(Client& client, Process& process, std::function<void()> first) {
  client.process = &process;
  client.running = true;
  ++running_;
  const std::uint64_t incarnation = ++client.incarnation;
  client.recorder->started(process, options_.lease);
  process.start("client", [this, &client, &process, incarnation, first = std::move(first)] {
    if (first) first();
    run_client(client, process);
    done(client, incarnation);
  });
}

bool Fleet::is_member(const std::string& node) const {
  return std::find(options_.members.begin(), options_.members.end(), node) != options_.members.end();
}

// One for the server or the set of them; of independent ones, one each for a lock that lives on several (any
// other knows the first only).
std::vector<std::unique_ptr<redis::Client>> Fleet::connect(const std::string& name, Process& process,
                                                           Network& network) const {
  std::vector<std::vector<redis::Node>> sets = {options_.nodes};
  if (!options_.members.empty() && !kind_.asks_strangers) {
    std::erase_if(sets.front(), [this](const redis::Node& node) { return !is_member(node.name); });
  }
  if (options_.independent) {
    sets.clear();
    for (const redis::Node& node : options_.nodes) sets.push_back({node});
    if (!kind_.quorum) sets.resize(1);
  }
  std::vector<std::unique_ptr<redis::Client>> clients;
  for (const auto& nodes : sets) {
    clients.push_back(
        std::make_unique<redis::Client>(process.runtime(), network,
                                        redis::ClientOptions{.nodes = nodes,
                                                             .sentinels = options_.sentinels,
                                                             .cluster = options_.cluster,
                                                             .client_name = name,
                                                             .tls = options_.tls,
                                                             .connect_timeout = options_.connect_timeout,
                                                             .command_timeout = options_.command_timeout,
                                                             // a world may begin with its servers down
                                                             .wait_for_servers = true}));
  }
  return clients;
}

Fleet::Equipment Fleet::equip(ClientRecorder& recorder, const std::string& name, Process& process) const {
  Equipment own;
  own.between = kind_.network ? kind_.network(process.network()) : nullptr;
  own.servers = connect(name, process, own.between ? *own.between : process.network());
  LockSpaceOptions space{
      .client = *own.servers.front(),
      .lock = {.lease = options_.lease,
               .renew = options_.renew,
               .max_renewals = options_.max_renewals,
               .fencing = kind_.tokens && (options_.fencing || shows_tokens()),
               .replicas = options_.replicas,
               .replica_timeout = options_.replica_timeout,
               .observer = &recorder},
      .replicas = options_.independent ? 0 : static_cast<int>(options_.nodes.size()) / options_.primaries - 1,
      .permits = options_.permits,
      .fair = options_.fair,
      .by_lag = options_.by_lag,
      .wait_timeout = options_.wait_timeout};
  for (const auto& server : own.servers) space.nodes.push_back(server.get());
  if (const auto doors = options_.doors.find(name); doors != options_.doors.end())
    space.doors = doors->second;
  space.client_name = name;
  space.connect_timeout = options_.connect_timeout;
  space.command_timeout = options_.command_timeout;
  for (const redis::Node& node : options_.nodes) {
    if (is_member(node.name)) space.members.push_back(node.endpoint.to_string());
  }
  own.locks = kind_.make == nullptr ? nullptr : kind_.make(space);
  own.latches = kind_.make_latches == nullptr ? nullptr : kind_.make_latches(space);
  return own;
}

void Fleet::run_client(Client& client, Process& process) {
  Runtime& runtime = process.runtime();
  // A published design may start tasks before anybody asks for a lock: who cannot is started again.
  const auto equipment = [&] {
    for (;;) {
      try {
        return equip(*client.recorder, client.name, process);
      } catch (const std::system_error&) {
        runtime.sleep_for(options_.retry_pause);
      }
    }
  };
  const auto shared = std::make_shared<Equipment>(equipment());
  client.equipment = shared;
  const Equipment& own = *shared;
  const auto body = [&](int number) {
    WorkThread thread(world_, process, options_, stats_, *client.recorder, *own.servers.front(),
                      own.locks.get(), own.latches.get(), key_of(client.name, number), number);
    thread.pause(options_.start);
    run_thread(thread);
  };
  struct Eviction {  // ends with the threads, before the locks go
    std::stop_source stop = {};
    Task task = {};
    ~Eviction() { stop.request_stop(); }
  } eviction;
  if (options_.evict && own.locks != nullptr) {
    eviction.task =
        runtime.spawn("client", [&, stop = eviction.stop.get_token()] { evict(process, *own.locks, stop); });
  }
  std::vector<Task> others;
  for (int number = 1; number < options_.threads; ++number) {
    others.push_back(runtime.spawn("client", [&body, number] { body(number); }));
  }
  body(0);
  for (Task& task : others) task.join();
  struct Waiting {
    Parker*& parker;
    ~Waiting() { parker = nullptr; }
  } const waiting{shared->owner};
  waiting.parker = &runtime.parker();
  while (shared.use_count() > 1) waiting.parker->park_until(kNever);
}

void Fleet::evict(Process& process, LockSpace& locks, const std::stop_token& stop) {
  Runtime& runtime = process.runtime();
  Wakeup wakeup(runtime);
  for (;;) {
    wakeup.wait_until(deadline_after(runtime.now(), *options_.evict), stop);
    if (stop.stop_requested()) return;
    try {
      if (locks.expire_unused_older_than(*options_.evict) > 0) recorder_.mark(kObjectsDropped);
    } catch (const LockError&) {  // no server to be asked: the next time
    }
  }
}

// A crashed client is counted out at its crash: its tasks unwind without coming here.
void Fleet::done(Client& client, std::uint64_t incarnation) {
  if (!client.running || client.incarnation != incarnation) return;
  client.running = false;
  --running_;
  if (running_ > 0) return;
  for (Parker* const waiter : waiters_) waiter->unpark();
}

bool Fleet::wait_finished(MonotonicTime deadline) {
  Runtime& runtime = world_.harness().runtime();
  Parker* const parker = &runtime.parker();
  waiters_.push_back(parker);
  while (!finished() && parker->park_until(deadline)) {
  }
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), parker));
  return finished();
}

std::vector<std::string> Fleet::clients() const {
  std::vector<std::string> names;
  for (const auto& client : clients_) names.push_back(client->name);
  return names;
}

void Fleet::fork(std::string_view name, std::function<void()> refused) {
  Client* const parent = find(name);
  if (parent == nullptr || parent->process == nullptr || !parent->process->alive() || !parent->running)
    return;
  clients_.push_back(std::make_unique<Client>());
  Client& child = *clients_.back();
  child.name = parent->name + "-child-" + std::to_string(++parent->children);
  child.recorder = &recorder_.client(child.name);
  Process& process = world_.fork_process(*parent->process, child.name);
  start_in(child, process,
           [this, parent, &child, incarnation = parent->incarnation, refused = std::move(refused)] {
             if (parent->incarnation == incarnation) use_inherited(child, *parent, refused);
           });
}

// fork() copies what the parent has. Here both have the same, so that the parent must not take it down before
// the child is done with it.
void Fleet::use_inherited(Client& child, Client& parent, const std::function<void()>& refused) {
  struct Inherited {
    std::shared_ptr<Equipment> all;
    ~Inherited() {
      if (Parker* const owner = all == nullptr ? nullptr : all->owner) {
        all.reset();
        owner->unpark();
      }
    }
  } const inherited{parent.equipment.lock()};
  if (inherited.all == nullptr || inherited.all->locks == nullptr) return;
  ThreadRecorder record(*child.recorder, 0);
  const std::string key = key_of(child.name, 0);
  try {
    const std::shared_ptr<Lock> lock = inherited.all->locks->obtain(key);
    record.acquire_invoked(key, lock->mode(), kind_.counts_permits ? lock->permits() : 0);
    try {
      if (lock->try_lock()) {
        record.acquire_ok(*lock);
      } else {
        record.acquire_failed(key, "timeout");
      }
    } catch (const LockError& error) {
      record.acquire_failed(key, error.what());
      throw;
    }
  } catch (const Forked&) {
    refused();
  } catch (const LockError&) {  // a published design: its client refused
  }
}

Fleet::Client* Fleet::find(std::string_view name) {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const auto& client) { return client->name == name; });
  return found == clients_.end() ? nullptr : found->get();
}

Process* Fleet::client(std::string_view name) {
  Client* const client = find(name);
  return client == nullptr ? nullptr : client->process;
}

void Fleet::crash(std::string_view name) {
  Client* const client = find(name);
  if (client == nullptr || client->process == nullptr || !client->process->alive()) return;
  client->recorder->crashed();
  client->process->crash();
  done(*client, client->incarnation);
}

void Fleet::restart(std::string_view name) {
  Client* const client = find(name);
  if (client == nullptr || client->process == nullptr || client->process->alive()) return;
  launch(*client);
}

}  // namespace holdfast::sim
