// PostgreSQL servers: the data of each is a copy of one that initdb made, once in a program. A replica is
// the same copy with standby.signal, so that it streams from the first record on. Settings are PostgreSQL's
// own but for what is small: memory and the size of a file of the log. fsync is on.
//
// The harness' own statements (is it there, pg_promote()) go past the proxy.
#include <pwd.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "lib/testing/server/child_process.h"
#include "sim/comparators/engine_cluster.h"
#include "sim/comparators/postgresql/postgresql.h"
#include "sim/comparators/postgresql/session.h"

namespace holdfast::sim::postgresql {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCallLimit{10};

struct User {
  uid_t user;
  gid_t group;
};

// PostgreSQL refuses to run as root: then it runs as the user that its package has made. nullopt: as ours.
std::optional<User> its_user() {
  if (::geteuid() != 0) return std::nullopt;
  passwd entry{}, *found = nullptr;
  std::vector<char> text(16 * 1024);
  if (::getpwnam_r("postgres", &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    throw std::runtime_error("PostgreSQL does not run as root, and there is no user `postgres` to run it as");
  return User{entry.pw_uid, entry.pw_gid};
}

ChildOptions as_its_user(const std::string& program, std::vector<std::string> arguments,
                         const std::string& folder) {
  ChildOptions options{.program = program, .arguments = std::move(arguments), .folder = folder, .output = ""};
  if (const std::optional<User> user = its_user()) {
    options.program = find_program("setpriv");
    options.arguments.insert(options.arguments.begin(),
                             {"--reuid=" + std::to_string(user->user),
                              "--regid=" + std::to_string(user->group), "--clear-groups", "--", program});
  }
  return options;
}

// Everything below, too.
void give_to_its_user(const std::string& path) {
  const std::optional<User> user = its_user();
  if (!user) return;
  const auto give = [&user](const std::string& one) {
    if (::lchown(one.c_str(), user->user, user->group) != 0)
      throw std::runtime_error("cannot give " + one + " to the user postgres");
  };
  give(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) give(entry.path());
}

// [parks] What initdb makes, once in a program: it takes a second.
class Template {
 public:
  explicit Template(Runtime& runtime) {
    give_to_its_user(folder_.path());
    ChildOptions options =
        as_its_user(find_postgres("initdb"),
                    {"--pgdata", path(), "--username", "holdfast", "--auth", "trust", "--encoding", "UTF8",
                     "--locale", "C", "--wal-segsize", "1", "--no-sync", "--no-instructions"},
                    folder_.path());
    options.output = folder_.path() + "/initdb.log";
    ChildProcess initdb(options);
    while (initdb.running()) runtime.sleep_for(std::chrono::milliseconds(5));
    const auto end = initdb.ended();
    if (!end || end->by_signal || end->number != 0) {
      std::ifstream log(options.output);
      std::ostringstream text;
      text << log.rdbuf();
      throw std::runtime_error("initdb fails:\n" + text.str());
    }
    // Every node has an address of its own.
    std::ofstream(path() + "/pg_hba.conf", std::ios::app)
        << "host all all 127.0.0.0/8 trust\nhost replication all 127.0.0.0/8 trust\n";
  }
  std::string path() const { return folder_.path() + "/data"; }

 private:
  TemporaryFolder folder_;
};

const Template& the_template(Runtime& runtime) {
  static const Template kTemplate(runtime);
  return kTemplate;
}

class PostgresNode final : public ServerNode {
 public:
  PostgresNode(World& world, Proxy& proxy, const std::string& name, const std::string& folder,
               std::vector<std::pair<std::string, std::string>> settings)
      : ServerNode(world, proxy, name, folder, SIGQUIT),
        data_(this->folder() + "/data"),
        settings_(std::move(settings)) {}

  // From now on it streams from there, as long as nobody promotes it.
  void follow(Endpoint primary) { primary_ = std::move(primary); }

  void promote() override {
    try {
      if (call("SELECT pg_is_in_recovery()").rows.at(0).at(0) != "t") return;
      if (call("SELECT pg_promote(true, 10)").rows.at(0).at(0) != "t") throw cannot_do("be promoted in time");
    } catch (const Error& error) {
      throw cannot_do("be promoted: " + std::string(error.what()));
    }
  }

  // [parks] One statement, past the proxy. Throws Error.
  Answer call(const char* statement) {
    const MonotonicTime deadline = deadline_after(runtime().now(), kCallLimit);
    return Session::connect(
               runtime(), {.nodes = {{name(), upstream()}}, .application = "harness", .takes_writes = false})
        ->ask(statement, {}, deadline);
  }

 protected:
  void make_disk() override {
    fs::remove_all(data_);
    fs::copy(the_template(runtime()).path(), data_, fs::copy_options::recursive);
    if (primary_) std::ofstream(data_ + "/standby.signal").flush();
    give_to_its_user(data_);
  }

  ChildOptions command() override {
    std::vector<std::string> arguments = {"-D", data_};
    const auto set = [&arguments](const std::string& name, const std::string& value) {
      arguments.insert(arguments.end(), {"-c", name + "=" + value});
    };
    set("listen_addresses", address());
    set("port", std::to_string(upstream().port));
    set("unix_socket_directories", "");
    set("shared_buffers", "16MB");
    set("dynamic_shared_memory_type", "mmap");   // in its folder, which is removed
    set("recovery_init_sync_method", "syncfs");  // after a crash: file by file takes seconds
    set("wal_keep_size", "256MB");               // for a replica that begins anew
    if (primary_) {
      set("primary_conninfo",
          "hostaddr=" + primary_->host + " port=" + std::to_string(primary_->port) +
              " user=holdfast passfile=/dev/null/none sslmode=disable gssencmode=disable application_name=" +
              name());
    }
    for (const auto& [name, value] : settings_) set(name, value);
    return as_its_user(find_postgres("postgres"), std::move(arguments), this->folder());
  }

  bool answers() override {
    call("SELECT 1");
    return true;
  }

  // The segment by which PostgreSQL knows that it runs already goes with its last process, however that ends.
  void answered() override {
    std::ifstream file(data_ + "/postmaster.pid");
    std::string line;
    for (int number = 1; number <= 7 && std::getline(file, line); ++number) {
    }
    std::istringstream words(line);
    unsigned long key = 0;
    int id = 0;
    if (words >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
  }

 private:
  const std::string data_;
  const std::vector<std::pair<std::string, std::string>> settings_;
  std::optional<Endpoint> primary_;
};

// What the locks find: their tables, and where numbers come from.
constexpr const char* kSchema[] = {"CREATE TABLE row_lock (key text PRIMARY KEY)",
                                   "CREATE TABLE table_lock (key text PRIMARY KEY, owner text NOT NULL, "
                                   "expires timestamptz NOT NULL, token bigint NOT NULL)",
                                   "CREATE SEQUENCE fencing"};

class PostgresCluster final : public EngineCluster {
 public:
  PostgresCluster(World& world, Proxy& proxy, const ClusterOptions& options)
      : world_(world), proxy_(proxy), options_(options) {
    give_to_its_user(folder());
    for (std::size_t i = 0; i < options.nodes.size(); ++i) {
      auto settings = options.settings;
      // Whoever is promoted has no replica of its own, and would wait for itself.
      if (starts_as_replica(options, i))
        std::erase_if(settings,
                      [](const auto& setting) { return setting.first == "synchronous_standby_names"; });
      add(std::make_unique<PostgresNode>(world, proxy, options.nodes[i], folder(), std::move(settings)));
    }
  }

  void start() override {
    for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
      postgres(i).open_door();
      if (starts_as_replica(options_, i)) {
        PostgresNode& primary = postgres(first_primary_of(options_, i));
        postgres(i).follow(proxy_.expose(primary.name(), primary.upstream(), postgres(i).name()));
      }
    }
    postgres(0).start();
    make_schema();
    for (std::size_t i = 1; i < options_.nodes.size(); ++i) postgres(i).start();
    wait_for_replicas();
  }

 private:
  PostgresNode& postgres(std::size_t number) { return static_cast<PostgresNode&>(node(number)); }

  void make_schema() {
    Runtime& runtime = world_.harness().runtime();
    const MonotonicTime deadline = deadline_after(runtime.now(), kCallLimit);
    const auto session = Session::connect(
        runtime, {.nodes = {{postgres(0).name(), postgres(0).upstream()}}, .application = "harness"});
    session->ask("SET synchronous_commit TO local", {}, deadline);  // there are no replicas yet
    for (const char* const statement : kSchema) session->ask(statement, {}, deadline);
  }

  void wait_for_replicas() {
    Runtime& runtime = world_.harness().runtime();
    const MonotonicTime limit = deadline_after(runtime.now(), std::chrono::seconds(60));
    for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
      const std::size_t followers = followers_of(i);
      while (followers > 0 && streaming_from(i) < followers) {
        if (runtime.now() >= limit)
          throw std::runtime_error("replicas do not come in sync with node " + postgres(i).name());
        runtime.sleep_for(std::chrono::milliseconds(10));
      }
    }
  }
  std::size_t followers_of(std::size_t number) const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < options_.nodes.size(); ++i)
      count += starts_as_replica(options_, i) && first_primary_of(options_, i) == number ? 1 : 0;
    return count;
  }
  // How many have all that it has.
  std::size_t streaming_from(std::size_t number) {
    const Answer answer = postgres(number).call(
        "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= "
        "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END");
    return static_cast<std::size_t>(std::stoul(answer.rows.at(0).at(0)));
  }

  World& world_;
  Proxy& proxy_;
  const ClusterOptions options_;
};

}  // namespace

std::string find_postgres(const std::string& program) {
  if (const std::string folder = variable_of_ours("HOLDFAST_POSTGRESQL"); !folder.empty()) {
    const std::string path = folder + "/" + program;
    return ::access(path.c_str(), X_OK) == 0 ? path : "";
  }
  // Debian keeps the programs of each version apart, and out of PATH. The newest first.
  std::set<int, std::greater<>> versions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
    if (const int version = std::atoi(entry.path().filename().c_str()); version > 0) versions.insert(version);
  }
  for (const int version : versions) {
    const std::string path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin/" + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return find_program(program);
}

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options) {
  return std::make_unique<PostgresCluster>(world, proxy, options);
}

}  // namespace holdfast::sim::postgresql
