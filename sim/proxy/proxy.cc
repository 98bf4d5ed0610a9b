#include "sim/proxy/proxy.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/runtime/check.h"
#include "sim/proxy/relay.h"
#include "sim/proxy/rule_book.h"
#include "sim/world/doorway.h"

namespace holdfast::sim {

// Shared by the proxy and the tasks of its process, which may unwind after it is gone.
class Proxy::Impl : public std::enable_shared_from_this<Impl> {
 public:
  struct Door {
    std::string node;
    std::string replication_from;
    std::string client;                          // whose alone it is; "": anybody's
    std::optional<Endpoint> bus = std::nullopt;  // where it leads: the bus of a Redis Cluster
    std::unique_ptr<Listener> listener;
    Doorway* doorway = nullptr;  // the listener
    DoorOptions options = {};
  };

  explicit Impl(World& world) : world_(world), process_(world.add_process("proxy")) {
    world_.on_new_address([this] { screen_anew(); });
    book_.past = past_of(world);
  }
  ~Impl() { world_.on_new_address(nullptr); }

  Endpoint expose(const std::string& node, const Endpoint& upstream, const std::string& replication_from,
                  const DoorOptions& options) {
    auto door = std::make_shared<Door>();
    door->node = node;
    door->replication_from = replication_from;
    door->options = options;
    door->listener = process_.network().listen(options.at);
    upstreams_[node] = upstream;
    return open(door);
  }

  Endpoint expose_to(const std::string& client, const std::string& node) {
    HF_CHECK(upstreams_.count(node) > 0, "expose_to() of a node that was exposed");
    auto door = std::make_shared<Door>();
    door->node = node;
    door->client = client;
    door->listener = process_.network().listen({process_.address(), 0});
    return open(door);
  }

  Endpoint expose_bus(const std::string& node, const Endpoint& upstream, const std::string& from) {
    HF_CHECK(upstreams_.count(node) > 0, "expose_bus() of a node that was exposed");
    auto door = std::make_shared<Door>();
    door->node = node;
    door->replication_from = from;
    door->bus = upstream;
    door->listener = process_.network().listen({process_.address(), 0});
    return open(door);
  }

  void lead(const Endpoint& at, const std::string& node) {
    changed();
    for (const auto& door : doors_) {
      if (door->listener->endpoint() != at) continue;
      door->node = node;
      if (!world_.embedded()) door->doorway->screen_changed(addresses_at(*door));
    }
  }

  Endpoint open(const std::shared_ptr<Door>& door) {
    const Endpoint endpoint = door->listener->endpoint();
    door->doorway = dynamic_cast<Doorway*>(door->listener.get());
    HF_CHECK(door->doorway != nullptr, "the listeners of a world are doorways");
    door->doorway->screen(
        [this, at = door.get()](const std::string& address) { return knock(*at, address); });
    doors_.push_back(door);
    door->doorway->screen_changed(addresses_at(*door));
    process_.start("door", [self = shared_from_this(), door] {
      for (;;) {
        Connected guest = door->listener->accept(kNever);
        if (guest.status == IoStatus::closed) return;
        if (guest.status == IoStatus::ok) self->serve(*door, std::move(guest.stream));
      }
    });
    return endpoint;
  }

  // All that may come to that door.
  std::vector<std::string> addresses_at(const Door& door) const {
    // Programs that are no processes of the world connect from where the kernel has them connect from.
    if (!door.client.empty() || (opaque_ && !door.replication_from.empty())) return {"127.0.0.1"};
    return world_.addresses();
  }

  Link link_of(const Door& door, const std::string& host) const {
    Link link;
    link.from = !door.client.empty()            ? door.client
                : door.replication_from.empty() ? world_.name_at(host)
                                                : door.replication_from;
    if (link.from.empty()) link.from = host;
    link.to = door.node;
    link.bus = door.bus.has_value();
    link.opaque = opaque_;
    link.replication = !link.bus && (!door.replication_from.empty() || upstreams_.count(link.from) > 0);
    return link;
  }

  // Before there is a connection.
  Knock knock(const Door& door, const std::string& host) const {
    const auto state = states_.find(door.node);
    if (state != states_.end()) return state->second == NodeState::off ? Knock::lose : Knock::refuse;
    const Link link = link_of(door, host);
    for (const RuleBook::Entry& entry : book_.rules) {
      if (entry.rule->applies(link) && entry.rule->loses(link)) return Knock::lose;
    }
    return Knock::let_in;
  }

  void screen_anew() {
    if (world_.embedded() || !process_.alive()) return;  // asked each time
    for (const auto& door : doors_) door->doorway->screen_changed(addresses_at(*door));
  }

  // What relays read is about to change.
  void changed() const { book_.shared(Past::Access::write); }

  void set_node(const std::string& node, NodeState state) {
    changed();
    const auto was = states_.find(node);
    const bool was_off = was != states_.end() && was->second == NodeState::off;
    if (state == NodeState::up) {
      states_.erase(node);
    } else {
      states_[node] = state;
    }
    screen_anew();
    const bool off = state == NodeState::off;
    if (off == was_off) return;
    for (auto it = relays_.begin(); it != relays_.end();) {  // by number: relays may end meanwhile
      const std::uint64_t number = it->first;
      const std::shared_ptr<Relay> relay = it->second;
      const bool to = relay->link().to == node;
      if (to || relay->link().from == node) {
        if (off) {
          relay->lose_machine(to ? Direction::reply : Direction::request);
        } else {
          relay->machine_is_back();
        }
      }
      it = relays_.upper_bound(number);
    }
  }

  void serve(const Door& door, std::unique_ptr<Stream> client) {
    ++book_.stats.connections;
    book_.shared(Past::Access::read);
    Link link = link_of(door, client->peer().host);
    const std::uint64_t id = link.connection = ++last_relay_;
    for (const RuleBook::Entry& entry : book_.rules) {
      if (entry.rule->applies(link) && entry.rule->refuses(link)) return client->reset();
    }
    if (door.options.guests != nullptr) client = door.options.guests->accepted(std::move(client));
    const std::string name = "connection/" + link.from + "/" + link.to;
    const std::string number = name + "#" + std::to_string(++made_[name]);
    const Rng rng = world_.rng(number);
    const auto relay = std::make_shared<Relay>(process_, book_, std::move(link), std::move(client), rng,
                                               weak_from_this(), [this, id] { relays_.erase(id); });
    relays_.emplace(id, relay);
    Network& dials = door.options.dials != nullptr ? *door.options.dials : process_.network();
    relay->run(number, door.bus.value_or(upstreams_.at(door.node)), dials,
               door.options.ends_orderly ? IoStatus::eof : IoStatus::reset);
  }

  void release(RuleId id, bool sent_again) {
    changed();
    // Rules that are asked may end relays: walk by number.
    for (auto it = relays_.begin(); it != relays_.end();) {
      const std::uint64_t number = it->first;
      const std::shared_ptr<Relay> relay = it->second;
      relay->release(id, sent_again);
      it = relays_.upper_bound(number);
    }
  }

  std::size_t reset_links(const std::function<bool(const Link&)>& which) {
    changed();
    std::size_t count = 0;
    for (const auto& [id, relay] : relays_) {
      if (!which(relay->link())) continue;
      relay->break_off();
      ++count;
    }
    return count;
  }

  std::size_t close_links(const std::function<bool(const Link&)>& which) {
    changed();
    std::size_t count = 0;
    for (const auto& [id, relay] : relays_) {
      if (!which(relay->link())) continue;
      relay->close();
      ++count;
    }
    return count;
  }

  void close_doors(const std::string& node) {
    for (const auto& door : doors_) {
      if (door->node == node) door->listener->close();
    }
    std::erase_if(doors_, [&](const auto& door) { return door->node == node; });
  }

  World& world_;
  Process& process_;
  RuleBook book_;
  std::unique_ptr<TlsNetwork> guests_;                      // null: who connects speaks plain
  std::map<std::string, Endpoint, std::less<>> upstreams_;  // by node
  std::map<std::string, NodeState, std::less<>> states_;    // of nodes that are not up
  std::vector<std::shared_ptr<Door>> doors_;
  std::map<std::uint64_t, std::shared_ptr<Relay>> relays_;  // in the order of their connections
  std::map<std::string, std::uint64_t> made_;               // connections so far, by who and to whom
  std::uint64_t last_relay_ = 0;
  bool opaque_ = false;  // nothing here is RESP
};

Proxy::Proxy(World& world) : impl_(std::make_shared<Impl>(world)) {}

Proxy::~Proxy() {
  if (impl_->process_.alive()) impl_->process_.crash();
}

Endpoint Proxy::expose(const std::string& node, const Endpoint& upstream,
                       const std::string& replication_from) {
  return impl_->expose(node, upstream, replication_from,
                       {.at = {impl_->process_.address(), 0},
                        .guests = replication_from.empty() ? impl_->guests_.get() : nullptr});
}

void Proxy::end_tls(const TlsOptions& shows) {
  impl_->guests_ = std::make_unique<TlsNetwork>(impl_->process_.runtime(), impl_->process_.network(), shows);
}

Endpoint Proxy::expose_to(const std::string& client, const std::string& node) {
  return impl_->expose_to(client, node);
}

Endpoint Proxy::expose_bus(const std::string& node, const Endpoint& upstream, const std::string& from) {
  return impl_->expose_bus(node, upstream, from);
}

void Proxy::make_opaque() { impl_->opaque_ = true; }

void Proxy::lead(const Endpoint& door, const std::string& node) { impl_->lead(door, node); }

Endpoint Proxy::expose_at(const std::string& node, const Endpoint& upstream, const DoorOptions& options) {
  return impl_->expose(node, upstream, "", options);
}

void Proxy::close_doors(const std::string& node) { impl_->close_doors(node); }

std::size_t Proxy::close_links(const std::function<bool(const Link&)>& which) {
  return impl_->close_links(which);
}

std::vector<Link> Proxy::links() const {
  std::vector<Link> all;
  for (const auto& [id, relay] : impl_->relays_) all.push_back(relay->link());
  return all;
}

void Proxy::count_bytes(ByteCounter counter) { impl_->book_.counter = std::move(counter); }

void Proxy::redirect(const std::string& node, const Endpoint& upstream) {
  HF_CHECK(impl_->upstreams_.count(node) > 0, "redirect() of a node that was exposed");
  impl_->changed();
  impl_->upstreams_[node] = upstream;
}

void Proxy::set_node(const std::string& node, NodeState state) { impl_->set_node(node, state); }

RuleId Proxy::add_rule(std::shared_ptr<Rule> rule) {
  impl_->changed();
  const RuleId id = impl_->book_.add(std::move(rule));
  impl_->screen_anew();
  return id;
}

void Proxy::remove_rule(RuleId id) {
  impl_->changed();
  if (!impl_->book_.remove(id)) return;
  impl_->screen_anew();
  impl_->release(id, false);
}

void Proxy::heal_rule(RuleId id) {
  impl_->changed();
  if (!impl_->book_.remove(id)) return;
  impl_->screen_anew();
  impl_->release(id, true);
}

void Proxy::release_held(RuleId id) { impl_->release(id, false); }

std::size_t Proxy::reset_links(const std::function<bool(const Link&)>& which) {
  return impl_->reset_links(which);
}

void Proxy::watch(MessageWatcher watcher) {
  watch(std::move(watcher), [](const Message&) { return true; });
}

void Proxy::watch(MessageWatcher watcher, MayAct may_act) {
  impl_->changed();
  impl_->book_.watchers.push_back({std::move(watcher), std::move(may_act)});
  ++impl_->book_.generation;
}

void Proxy::watch_fates(FateWatcher watcher) { impl_->book_.fates.push_back(std::move(watcher)); }
void Proxy::watch_passages(PassageWatcher& watcher) { impl_->book_.passages = &watcher; }

const ProxyStats& Proxy::stats() const { return impl_->book_.stats; }

}  // namespace holdfast::sim
