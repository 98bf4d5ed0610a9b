#include "sim/comparators/server_node.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::sim {
namespace {

constexpr std::chrono::seconds kStartLimit{60};

std::string made(const std::string& folder) {
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

ServerNode::ServerNode(World& world, Proxy& proxy, std::string name, const std::string& folder,
                       int end_signal)
    : world_(world),
      proxy_(proxy),
      name_(std::move(name)),
      folder_(made(folder + "/" + name_)),
      address_(world.add_process(name_).address()),
      log_(folder_ + "/server.log"),
      end_signal_(end_signal),
      port_(choose_port(world.harness().network(), address_)) {}

ServerNode::~ServerNode() {
  if (child_) tree_.end(*child_, end_signal_);
}

void ServerNode::start() {
  if (!std::exchange(has_disk_, true)) make_disk();
  ++incarnation_;
  pauses_ = 0;
  ChildOptions options = command();
  options.output = log_;
  child_ = std::make_unique<ChildProcess>(options);
  const std::uint64_t mine = incarnation_;
  const auto replaced = [&] { return !child_ || incarnation_ != mine; };  // while this parked
  const MonotonicTime limit = deadline_after(runtime().now(), kStartLimit);
  for (;;) {
    if (replaced()) return;
    if (!child_->running()) throw std::runtime_error("node " + name_ + " does not start:\n" + log_tail());
    try {
      if (answers()) break;
    } catch (const std::runtime_error&) {  // not yet
    }
    if (runtime().now() >= limit)
      throw std::runtime_error("node " + name_ + " does not answer:\n" + log_tail());
    runtime().sleep_for(std::chrono::milliseconds(10));
  }
  if (replaced()) return;
  answered();
  if (running()) proxy_.set_node(name_, NodeState::up);
}

void ServerNode::crash() {
  if (!child_) return;
  proxy_.set_node(name_, NodeState::down);
  const std::unique_ptr<ChildProcess> dying = std::move(child_);
  tree_.kill(*dying);
}

void ServerNode::restart(bool keep_disk) {
  if (running()) throw cannot_do("be restarted: it runs");
  crash();  // what is left of one that ended by itself
  if (!keep_disk) has_disk_ = false;
  start();
}

void ServerNode::pause() {
  if (child_ && pauses_++ == 0) tree_.pause(*child_);
}

void ServerNode::resume() {
  if (child_ && pauses_ > 0 && --pauses_ == 0) tree_.resume(*child_);
}

std::string ServerNode::log_tail() const {
  std::ifstream file(log_);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.size() > 2000 ? "..." + all.substr(all.size() - 2000) : all;
}

}  // namespace holdfast::sim
