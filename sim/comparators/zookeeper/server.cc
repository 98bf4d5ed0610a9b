// ZooKeeper servers, each a small JVM at an address of its own. What one says to the others goes by the SOCKS
// proxy that it has to itself: they tell each other the addresses at which they listen, and connect back
// there. Settings are ZooKeeper's own, but for a short tick and a small log.
//
// The harness' own questions ("srvr") go past the proxy.
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "lib/testing/server/child_process.h"
#include "sim/comparators/ensemble.h"
#include "sim/comparators/zookeeper/zookeeper.h"

namespace holdfast::sim::zookeeper {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCallLimit{2};
constexpr std::string_view kServes = "Mode: ";  // leader, follower, standalone

// Where the programs are: what HOLDFAST_ZOOKEEPER names (the folder `lib` of a release), else Debian's. "":
// nowhere.
std::string class_path() {
  std::error_code error;
  const std::string named = variable_of_ours("HOLDFAST_ZOOKEEPER");
  if (!named.empty()) {
    for (const auto& entry : fs::directory_iterator(named, error)) {
      const std::string file = entry.path().filename();
      if (file.starts_with("zookeeper-") && file.ends_with(".jar")) return named + "/*";
    }
    return "";
  }
  const std::string jars = "/usr/share/java/";
  if (!fs::exists(jars + "zookeeper.jar", error)) return "";
  return jars + "zookeeper.jar:" + jars + "slf4j-simple.jar";
}

class ZooKeeperNode final : public MemberNode {
 public:
  ZooKeeperNode(World& world, Proxy& proxy, const std::string& name, const std::string& folder)
      : MemberNode(world, proxy, name, folder, SIGKILL),
        data_(this->folder() + "/data"),
        peer_port_(choose_port(world.harness().network(), address())),
        election_port_(choose_port(world.harness().network(), address())) {}

  std::vector<PeerDoor> peer_doors() const override {
    const Endpoint peer{address(), peer_port_}, election{address(), election_port_};
    return {{.known_as = peer, .listens = peer}, {.known_as = election, .listens = election}};
  }

  // Its lines of the configuration that all share; the highest number is the first choice of all.
  std::string as_member(std::size_t number) {
    number_ = number;
    return "server." + std::to_string(number) + "=" + address() + ":" + std::to_string(peer_port_) + ":" +
           std::to_string(election_port_) + "\n";
  }
  void configure(const std::vector<std::pair<std::string, std::string>>& settings,
                 const std::string& members) {
    std::string text = "tickTime=500\ninitLimit=20\nsyncLimit=4\npreAllocSize=256\n";
    for (const auto& [name, value] : settings) text += name + "=" + value + "\n";
    text += "dataDir=" + data_ + "\nclientPortAddress=" + address() +
            "\nclientPort=" + std::to_string(upstream().port) +
            "\n4lw.commands.whitelist=srvr\nadmin.enableServer=false\n" + members;
    std::ofstream(configuration()) << text;
  }

  // [parks] It serves, as a member of a majority.
  bool serves() { return srvr().find(kServes) != std::string::npos; }

  // The upper half of its last transaction's number is the term ("epoch").
  std::optional<std::uint64_t> leads() override {
    const std::string said = srvr();
    if (said.find("Mode: leader") == std::string::npos) return std::nullopt;
    constexpr std::string_view kNumber = "Zxid: 0x";
    const std::size_t at = said.find(kNumber);
    if (at == std::string::npos) return std::nullopt;
    std::uint64_t number = 0;
    std::from_chars(said.data() + at + kNumber.size(), said.data() + said.size(), number, 16);
    return number >> 32;
  }

 protected:
  void make_disk() override {
    fs::remove_all(data_);
    fs::create_directories(data_);
    std::ofstream(data_ + "/myid") << number_ << "\n";
  }

  ChildOptions command() override {
    ChildOptions options{
        .program = find_program("java"),
        .arguments = {"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                      "-Djava.net.preferIPv4Stack=true", "-Dzookeeper.jmx.log4j.disable=true"},
        .folder = folder(),
        .output = "",
        .inherited = std::vector<std::string>{"PATH", "HOME", "TMPDIR", "JAVA_HOME"}};
    if (way_out() != nullptr) {
      const Endpoint door = way_out()->endpoint();
      // The last: or loopback addresses are excepted.
      for (const std::string& property :
           {"socksProxyHost=" + door.host, "socksProxyPort=" + std::to_string(door.port),
            std::string("socksNonProxyHosts=")})
        options.arguments.push_back("-D" + property);
    }
    for (const std::string& argument :
         {std::string("-cp"), class_path(), std::string("org.apache.zookeeper.server.quorum.QuorumPeerMain"),
          configuration()})
      options.arguments.push_back(argument);
    return options;
  }

  // Of an ensemble without a majority nobody serves, but says so.
  bool answers() override {
    const std::string said = srvr();
    return said.find(kServes) != std::string::npos ||
           (number_ != 0 && said.find("not currently serving requests") != std::string::npos);
  }

 private:
  std::string configuration() const { return folder() + "/zoo.cfg"; }
  // [parks] What it says of itself; "": nothing.
  std::string srvr() {
    Network& network = world().harness().network();
    const MonotonicTime limit = deadline_after(runtime().now(), kCallLimit);
    Connected connected = network.connect(upstream(), limit);
    if (connected.status != IoStatus::ok || !connected.stream->write("srvr", limit).ok()) return "";
    std::string said;
    std::array<char, 1024> buffer;
    for (;;) {
      const IoResult got = connected.stream->read(buffer, limit);
      if (got.status == IoStatus::eof) return said;
      if (!got.ok()) return "";
      said.append(buffer.data(), got.bytes);
    }
  }

  const std::string data_;
  const std::uint16_t peer_port_, election_port_;
  std::size_t number_ = 0;  // 0: alone
};

class ZooKeeperCluster final : public Ensemble {
 public:
  ZooKeeperCluster(World& world, Proxy& proxy, const ClusterOptions& options) : Ensemble(world, proxy) {
    for (const std::string& name : options.nodes)
      add(std::make_unique<ZooKeeperNode>(world, proxy, name, folder()));
    std::string members;
    const std::size_t all = nodes().size();
    for (std::size_t i = 0; i < all && all > 1; ++i) members += zookeeper(i).as_member(all - i);
    for (std::size_t i = 0; i < all; ++i) zookeeper(i).configure(options.settings, members);
  }

  void start() override {
    open_doors_of_members();
    // The first leads at the start, so that scenarios know whom they mean: of a majority that has nothing
    // yet, the highest number does. Whoever comes later follows.
    const std::size_t majority = nodes().size() / 2 + 1;
    start_some(0, majority);
    start_some(majority, nodes().size());
    if (nodes().size() > 1 && leader() != zookeeper(0).name())
      throw std::runtime_error("the first server of ZooKeeper does not lead");
    watch_leader();
  }

 private:
  void start_some(std::size_t begin, std::size_t end) {
    std::vector<std::function<void()>> starts;
    for (std::size_t i = begin; i < end; ++i) starts.push_back([this, i] { zookeeper(i).start(); });
    side_by_side(starts);
    wait_until("the servers of ZooKeeper do not agree", [this, begin, end] {
      for (std::size_t i = begin; i < end; ++i) {
        if (!zookeeper(i).serves()) return false;
      }
      return true;
    });
  }
  ZooKeeperNode& zookeeper(std::size_t number) { return static_cast<ZooKeeperNode&>(member(number)); }
};

}  // namespace

std::string missing_of_server() {
  if (find_program("java").empty()) return "Java";
  return class_path().empty() ? "ZooKeeper" : "";
}

std::vector<std::string> version_command() {
  return {find_program("java"), "-cp", class_path(), "org.apache.zookeeper.version.VersionInfoMain"};
}

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options) {
  return std::make_unique<ZooKeeperCluster>(world, proxy, options);
}

}  // namespace holdfast::sim::zookeeper
