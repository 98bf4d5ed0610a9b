// The two worlds: the same processes over the same scheduler; they differ in driver, network and addresses.
#include "sim/world/world.h"

#include <exception>
#include <map>
#include <stdexcept>
#include <vector>

#include "lib/runtime/check.h"
#include "sim/world/event_loop.h"
#include "sim/world/guarded_network.h"
#include "sim/world/process.h"
#include "sim/world/scheduler.h"
#include "sim/world/sim_network.h"
#include "sim/world/virtual_time.h"

namespace holdfast::sim {
namespace {

constexpr std::int64_t kSimulatedEpochNs =
    1'700'000'000'000'000'000;  // November 2023: where simulated calendars begin

class WorldBase : public World {
 public:
  WorldBase(std::uint64_t seed, std::unique_ptr<Driver> driver, std::size_t stack_bytes)
      : seed_(seed), driver_(std::move(driver)), scheduler_(*driver_, stack_bytes) {}

  std::uint64_t seed() const override { return seed_; }
  std::int64_t now_ns() const override { return scheduler_.now_ns(); }
  Rng rng(std::string_view stream) const override { return Rng::derive(seed_, stream); }
  Trace& trace() override { return trace_; }
  Process& harness() override { return *processes_.front(); }

  Process& add_process(std::string name) override {
    auto [address, is_new] = addresses_.try_emplace(name, "");
    if (is_new) {
      address->second = make_address(addresses_.size());
      names_.emplace(address->second, name);
    }
    const std::uint64_t incarnation = ++incarnations_[name];
    ProcessSetup setup;
    setup.address = address->second;
    setup.random = rng("process/" + name + "/" + std::to_string(incarnation));
    setup.name = std::move(name);
    prepare(setup);
    processes_.push_back(std::make_unique<ProcessImpl>(scheduler_, std::move(setup)));
    ProcessImpl& process = *processes_.back();
    process.set_network(make_network(process));
    return process;
  }

  std::string name_at(std::string_view address) const override {
    const auto found = names_.find(address);
    return found == names_.end() ? "" : found->second;
  }

  void run(std::function<void()> body) override {
    HF_CHECK(!ran_, "a world runs once");
    ran_ = true;
    bool done = false;
    std::exception_ptr failure;
    harness().start("main", [&] {
      try {
        body();
      } catch (const TaskCancelled&) {  // the end below
      } catch (...) {
        failure = std::current_exception();
      }
      done = true;
    });
    const bool stuck = !scheduler_.run_until([&] { return done; });
    std::string waiting = stuck ? scheduler_.waiting_tasks() : "";
    end();
    if (failure) std::rethrow_exception(failure);
    if (stuck) throw std::logic_error("nothing can happen any more, and these tasks wait:\n" + waiting);
  }

 protected:
  virtual std::string make_address(std::size_t number) const = 0;
  virtual void prepare(ProcessSetup& setup) = 0;
  virtual std::unique_ptr<Network> make_network(ProcessImpl& process) = 0;

  // Ends every task. Derived classes call it before what their drivers need is gone.
  void end() {
    for (std::size_t i = processes_.size(); i-- > 0;) processes_[i]->crash();  // the harness last
    const bool over = scheduler_.run_until([&] { return !scheduler_.any_alive(); });
    HF_CHECK(over, "a task of a dead process did not end");
  }

  std::uint64_t seed_;
  Trace trace_;
  std::unique_ptr<Driver> driver_;
  Scheduler scheduler_;

 private:
  std::vector<std::unique_ptr<ProcessImpl>> processes_;    // dead ones too: others may still refer to them
  std::map<std::string, std::string> addresses_;           // by name
  std::map<std::string, std::string, std::less<>> names_;  // by address
  std::map<std::string, std::uint64_t> incarnations_;
  bool ran_ = false;
};

class EmbeddedWorld final : public WorldBase {
 public:
  explicit EmbeddedWorld(const EmbeddedWorldOptions& options)
      : WorldBase(options.seed, std::make_unique<VirtualTime>(), options.stack_bytes),
        fabric_(scheduler_, trace_, options.hop) {
    add_process("harness");
  }
  ~EmbeddedWorld() override { end(); }

  bool embedded() const override { return true; }

 protected:
  std::string make_address(std::size_t number) const override {
    return "10." + std::to_string(number >> 16) + "." + std::to_string((number >> 8) & 255) + "." +
           std::to_string(number & 255);
  }
  void prepare(ProcessSetup& setup) override {
    // Clocks of different machines have nothing in common; those that belong to the harness are its own.
    if (setup.name != "harness" && setup.name != "proxy") {
      Rng clocks = rng("clock/" + setup.name);
      setup.monotonic_origin_ns = static_cast<std::int64_t>(clocks.between(1, 1'000'000)) * 1'000'000'000;
    }
    setup.wall_origin_ns = kSimulatedEpochNs;
    setup.on_crash = [this](ProcessImpl& process) { fabric_.crashed(process); };
  }
  std::unique_ptr<Network> make_network(ProcessImpl& process) override { return fabric_.network_of(process); }

 private:
  Fabric fabric_;
};

class RealWorld final : public WorldBase {
 public:
  explicit RealWorld(const RealWorldOptions& options)
      : WorldBase(options.seed, std::make_unique<EventLoop>(), options.stack_bytes) {
    add_process("harness");
  }
  ~RealWorld() override { end(); }

  bool embedded() const override { return false; }

 protected:
  std::string make_address(std::size_t number) const override {
    // All of 127.0.0.0/8 is this machine; 127.0.x.y is left to others.
    return "127.1." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
  }
  void prepare(ProcessSetup& setup) override {
    setup.monotonic_origin_ns = EventLoop::boot_ns() - now_ns();
    setup.wall_origin_ns = EventLoop::wall_ns() - now_ns();
    setup.may_drift = false;
    setup.on_crash = [](ProcessImpl& process) { static_cast<GuardedNetwork&>(process.network()).crashed(); };
    setup.wait_fd = [this](int fd, FdInterest interest, std::int64_t deadline_ns) {
      return static_cast<EventLoop&>(*driver_).wait_fd(scheduler_, fd, interest, deadline_ns);
    };
  }
  std::unique_ptr<Network> make_network(ProcessImpl& process) override {
    return std::make_unique<GuardedNetwork>(process);
  }
};

}  // namespace

std::unique_ptr<World> make_embedded_world(const EmbeddedWorldOptions& options) {
  return std::make_unique<EmbeddedWorld>(options);
}

std::unique_ptr<World> make_real_world(const RealWorldOptions& options) {
  return std::make_unique<RealWorld>(options);
}

}  // namespace holdfast::sim
