// etcd servers. Each has an address of its own for clients and members. Members know each other by addresses
// at which nobody listens (of a network for documentation, RFC 5737), because Go goes to loopback addresses
// past any proxy: they reach them by the SOCKS proxy that each has to itself. Settings are etcd's own.
//
// The harness' own requests (is it there, who leads) go past the proxy.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "lib/testing/server/child_process.h"
#include "sim/comparators/ensemble.h"
#include "sim/comparators/etcd/client.h"
#include "sim/comparators/etcd/etcd.h"

namespace holdfast::sim::etcd {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCallLimit{2};
constexpr std::uint16_t kPeerPort = 2380;

class EtcdNode final : public MemberNode {
 public:
  EtcdNode(World& world, Proxy& proxy, const std::string& name, const std::string& folder,
           const ClusterOptions& options)
      : MemberNode(world, proxy, name, folder, SIGTERM),
        data_(this->folder() + "/data"),
        options_(options),
        peer_port_(choose_port(world.harness().network(), address())) {}

  std::vector<PeerDoor> peer_doors() const override {
    return {{.known_as = known_as(name()), .listens = {address(), peer_port_}}};
  }

  std::optional<std::uint64_t> leads() override {
    try {
      const Json status = call("/v3/maintenance/status");
      if (status.value("leader", "") != own_id(status)) return std::nullopt;
      return static_cast<std::uint64_t>(number_at(status, "raftTerm"));
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // [parks] By its own word: the majority is with it, and it knows who leads.
  bool is_well() { return call("/v3/kv/range", {{"key", to_base64("k")}}).contains("header"); }
  // [parks] Hands the lead, which this member has, to another one.
  void hand_over(EtcdNode& to) {
    call("/v3/maintenance/transfer-leadership", {{"targetID", own_id(to.call("/v3/maintenance/status"))}});
  }

  void restart(bool keep_disk) override {
    if (!keep_disk && options_.nodes.size() > 1)
      throw cannot_do("come back without its disk: a member that has lost it must be removed and added anew");
    MemberNode::restart(keep_disk);
  }

 protected:
  void make_disk() override { fs::remove_all(data_); }

  ChildOptions command() override {
    const Endpoint clients = upstream();
    std::string all;
    for (const std::string& node : options_.nodes)
      all += (all.empty() ? "" : ",") + node + "=http://" + known_as(node).to_string();
    ChildOptions options{
        .program = find_etcd(),
        .arguments = {"--name", name(), "--data-dir", data_, "--listen-client-urls",
                      "http://" + clients.to_string(), "--advertise-client-urls",
                      "http://" + clients.to_string(), "--listen-peer-urls",
                      "http://" + Endpoint{address(), peer_port_}.to_string(),
                      "--initial-advertise-peer-urls", "http://" + known_as(name()).to_string(),
                      "--initial-cluster", all, "--initial-cluster-state", "new"},
        .folder = folder(),
        .output = "",
        .inherited = std::vector<std::string>{"PATH", "HOME", "TMPDIR"}};  // ETCD_* and proxies are ours
    for (const auto& [name, value] : options_.settings) {
      options.arguments.push_back("--" + name);
      options.arguments.push_back(value);
    }
    if (way_out() != nullptr)
      options.environment = {{"HTTP_PROXY", "socks5://" + way_out()->endpoint().to_string()}};
    return options;
  }

  bool answers() override {
    call("/v3/maintenance/status");
    return true;
  }

 private:
  Endpoint known_as(const std::string& node) const {
    std::size_t number = 0;
    while (options_.nodes[number] != node) ++number;
    return {"192.0.2." + std::to_string(number + 1), kPeerPort};
  }
  static std::string own_id(const Json& status) { return status.at("header").value("member_id", ""); }
  // [parks] Throws Error.
  Json call(std::string_view target, const Json& request = Json::object()) {
    return ask_once(runtime(), world().harness().network(), {name(), upstream()}, target, request,
                    deadline_after(runtime().now(), kCallLimit));
  }

  const std::string data_;
  const ClusterOptions options_;
  const std::uint16_t peer_port_;
};

class EtcdCluster final : public Ensemble {
 public:
  EtcdCluster(World& world, Proxy& proxy, const ClusterOptions& options) : Ensemble(world, proxy) {
    for (const std::string& name : options.nodes)
      add(std::make_unique<EtcdNode>(world, proxy, name, folder(), options));
  }

  void start() override {
    open_doors_of_members();
    std::vector<std::function<void()>> starts;
    for (std::size_t i = 0; i < nodes().size(); ++i) starts.push_back([this, i] { etcd(i).start(); });
    side_by_side(starts);
    wait_until("the members of etcd do not agree", [this] {
      for (std::size_t i = 0; i < nodes().size(); ++i) {
        if (!etcd(i).is_well()) return false;
      }
      return true;
    });
    // The first leads at the start, so that scenarios know whom they mean.
    wait_until("the first member of etcd does not come to lead", [this] {
      const std::optional<std::string> leads = leader();
      if (!leads || *leads == etcd(0).name()) return leads.has_value();
      static_cast<EtcdNode*>(find(*leads))->hand_over(etcd(0));
      return false;
    });
    watch_leader();
  }

 private:
  EtcdNode& etcd(std::size_t number) { return static_cast<EtcdNode&>(member(number)); }
};

}  // namespace

std::string find_etcd() {
  const std::string named = variable_of_ours("HOLDFAST_ETCD");
  if (named.empty()) return find_program("etcd");
  std::error_code error;
  return fs::is_regular_file(named, error) ? named : "";
}

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options) {
  return std::make_unique<EtcdCluster>(world, proxy, options);
}

}  // namespace holdfast::sim::etcd
