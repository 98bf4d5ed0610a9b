#include "sim/cluster/assembly.h"

#include <chrono>
#include <sstream>
#include <stdexcept>

namespace holdfast::sim {
namespace {

redis::Reply ask(const ClusterMember& of, const std::vector<std::string>& command) {
  redis::Reply reply = of.call(command);
  if (reply.is_error()) {
    throw std::runtime_error("node " + of.name + " refuses " + command[0] + ' ' + command[1] + ": " +
                             reply.text);
  }
  return reply;
}

struct View {
  std::size_t primaries = 0, replicas = 0, strangers = 0;
};

// A line of CLUSTER NODES: id, address, flags, ...
View view_of(const std::string& nodes) {
  View view;
  std::istringstream lines(nodes);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, address, flags;
    words >> id >> address >> flags;
    const auto says = [&flags = flags](const char* flag) { return flags.find(flag) != std::string::npos; };
    if (says("handshake") || says("fail") || says("noaddr")) {
      ++view.strangers;
    } else {
      ++(says("slave") ? view.replicas : view.primaries);
    }
  }
  return view;
}

}  // namespace

void assemble_cluster(Runtime& runtime, const ClusterOptions& options,
                      const std::vector<ClusterMember>& members) {
  const MonotonicTime limit = deadline_after(runtime.now(), std::chrono::seconds(60));
  const auto wait_for = [&](const ClusterMember& member, const auto& done) {
    while (!done()) {
      if (runtime.now() >= limit)
        throw std::runtime_error("node " + member.name + " does not get to know the cluster:\n" +
                                 ask(member, {"CLUSTER", "NODES"}).text);
      runtime.sleep_for(std::chrono::milliseconds(10));
    }
  };
  const auto knows = [&](const ClusterMember& member, std::size_t primaries, std::size_t replicas) {
    const View view = view_of(ask(member, {"CLUSTER", "NODES"}).text);
    return view.primaries == primaries && view.replicas == replicas && view.strangers == 0;
  };
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < members.size(); ++i) {
    ids.push_back(ask(members[i], {"CLUSTER", "MYID"}).text);
    ask(members[i], {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (starts_as_replica(options, i)) continue;
    const auto [first, last] = first_slots_of(options, i);
    ask(members[i], {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  const auto introduce = [&](const ClusterMember& member) {
    const std::string known = ask(member, {"CLUSTER", "NODES"}).text;
    for (const ClusterMember& other : members) {
      const Endpoint& at = other.door;
      if (known.find(' ' + at.to_string() + '@') != std::string::npos || &other == &member) continue;
      ask(member, {"CLUSTER", "MEET", at.host, std::to_string(at.port), std::to_string(other.bus_port)});
    }
  };
  for (const ClusterMember& member : members) {
    // A node that is not answered within a node_timeout forgets whom it was to meet.
    MonotonicTime again{};
    wait_for(member, [&] {
      if (runtime.now() >= again) {
        introduce(member);
        again = deadline_after(runtime.now(), std::chrono::seconds(2));
      }
      return knows(member, members.size(), 0);
    });
  }
  std::size_t replicas = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!starts_as_replica(options, i)) continue;
    ++replicas;
    ask(members[i], {"CLUSTER", "REPLICATE", ids[first_primary_of(options, i)]});
  }
  for (const ClusterMember& member : members) {
    wait_for(member, [&] {
      return knows(member, members.size() - replicas, replicas) &&
             ask(member, {"CLUSTER", "INFO"}).text.starts_with("cluster_state:ok");
    });
  }
}

}  // namespace holdfast::sim
