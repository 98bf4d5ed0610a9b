#include "sim/proxy/proxy.h"

#include <map>
#include <utility>

#include "lib/runtime/check.h"
#include "sim/proxy/relay.h"
#include "sim/proxy/rule_book.h"

namespace holdfast::sim {

// Shared by the proxy and the tasks of its process, which may unwind after it is gone.
class Proxy::Impl : public std::enable_shared_from_this<Impl> {
 public:
  struct Door {
    std::string node;
    std::string replication_from;
    std::unique_ptr<Listener> listener;
  };

  explicit Impl(World& world) : world_(world), process_(world.add_process("proxy")) {}

  Endpoint expose(const std::string& node, const Endpoint& upstream, const std::string& replication_from) {
    upstreams_[node] = upstream;
    auto door = std::make_shared<Door>();
    door->node = node;
    door->replication_from = replication_from;
    door->listener = process_.network().listen({process_.address(), 0});
    const Endpoint endpoint = door->listener->endpoint();
    process_.start("door", [self = shared_from_this(), door] {
      for (;;) {
        Connected guest = door->listener->accept(kNever);
        if (guest.status == IoStatus::closed) return;
        if (guest.status == IoStatus::ok) self->serve(*door, std::move(guest.stream));
      }
    });
    return endpoint;
  }

  void serve(const Door& door, std::unique_ptr<Stream> client) {
    ++book_.stats.connections;
    const std::string host = client->peer().host;
    Link link;
    link.from = door.replication_from.empty() ? world_.name_at(host) : door.replication_from;
    if (link.from.empty()) link.from = host;
    link.to = door.node;
    link.replication = !door.replication_from.empty() || upstreams_.count(link.from) > 0;
    for (const RuleBook::Entry& entry : book_.rules) {
      if (entry.rule->applies(link) && entry.rule->refuses(link)) return client->reset();
    }
    const std::uint64_t id = ++last_relay_;
    const auto relay = std::make_shared<Relay>(process_, book_, std::move(link), std::move(client),
                                               weak_from_this(), [this, id] { relays_.erase(id); });
    relays_.emplace(id, relay);
    relay->run(upstreams_.at(door.node));
  }

  void release(RuleId id) {
    // Rules that are asked may end relays: walk by number.
    for (auto it = relays_.begin(); it != relays_.end();) {
      const std::uint64_t number = it->first;
      const std::shared_ptr<Relay> relay = it->second;
      relay->release(id);
      it = relays_.upper_bound(number);
    }
  }

  std::size_t reset_links(const std::function<bool(const Link&)>& which) {
    std::size_t count = 0;
    for (const auto& [id, relay] : relays_) {
      if (!which(relay->link())) continue;
      relay->break_off();
      ++count;
    }
    return count;
  }

  World& world_;
  Process& process_;
  RuleBook book_;
  std::map<std::string, Endpoint, std::less<>> upstreams_;  // by node
  std::map<std::uint64_t, std::shared_ptr<Relay>> relays_;  // in the order of their connections
  std::uint64_t last_relay_ = 0;
};

Proxy::Proxy(World& world) : impl_(std::make_shared<Impl>(world)) {}

Proxy::~Proxy() {
  if (impl_->process_.alive()) impl_->process_.crash();
}

Endpoint Proxy::expose(const std::string& node, const Endpoint& upstream,
                       const std::string& replication_from) {
  return impl_->expose(node, upstream, replication_from);
}

void Proxy::redirect(const std::string& node, const Endpoint& upstream) {
  HF_CHECK(impl_->upstreams_.count(node) > 0, "redirect() of a node that was exposed");
  impl_->upstreams_[node] = upstream;
}

RuleId Proxy::add_rule(std::shared_ptr<Rule> rule) { return impl_->book_.add(std::move(rule)); }

void Proxy::remove_rule(RuleId id) {
  if (impl_->book_.remove(id)) impl_->release(id);
}

void Proxy::release_held(RuleId id) { impl_->release(id); }

std::size_t Proxy::reset_links(const std::function<bool(const Link&)>& which) {
  return impl_->reset_links(which);
}

void Proxy::watch(MessageWatcher watcher) {
  impl_->book_.watchers.push_back(std::move(watcher));
  ++impl_->book_.generation;
}

const ProxyStats& Proxy::stats() const { return impl_->book_.stats; }

}  // namespace holdfast::sim
