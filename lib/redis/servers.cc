#include "lib/redis/servers.h"

#include "lib/redis/primary_finder.h"

namespace holdfast::redis {

Servers::Servers(Runtime& runtime, const ClientOptions& options)
    : remap_(options.remap_address),
      given_([&] {
        std::vector<Known> given;
        for (const Node& node : options.nodes) given.push_back({node, node_name(node)});
        return given;
      }()),
      mutex_(runtime) {}

Node Servers::at(std::size_t index) const {
  if (index < given_.size()) return given_[index].node;
  const std::unique_lock<Mutex> lock(mutex_);
  return learned_[index - given_.size()].node;
}

const std::string& Servers::name(std::size_t index) const {
  if (index < given_.size()) return given_[index].name;
  const std::unique_lock<Mutex> lock(mutex_);
  return learned_[index - given_.size()].name;
}

std::size_t Servers::size() const {
  const std::unique_lock<Mutex> lock(mutex_);
  return given_.size() + learned_.size();
}

std::optional<std::size_t> Servers::at_address(const Endpoint& told) {
  const Endpoint reached = remap_ ? remap_(told) : told;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].node.endpoint == reached) return i;
  }
  const std::unique_lock<Mutex> lock(mutex_);
  for (std::size_t i = 0; i < learned_.size(); ++i) {
    if (learned_[i].node.endpoint == reached) return given_.size() + i;
  }
  if (given_.size() + learned_.size() >= kMost) return std::nullopt;
  const Node node{reached == told ? "" : told.to_string(), reached};
  learned_.push_back({node, node_name(node)});
  return given_.size() + learned_.size() - 1;
}

}  // namespace holdfast::redis
