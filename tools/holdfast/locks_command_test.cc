// `holdfast locks` and `holdfast unlock` on a real server, with every kind of lock that the library has.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "tools/holdfast/take_away.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr Duration kLease = 60s;

struct Live {
  TemporaryFolder folder;
  ThreadRuntime runtime;
  SocketNetwork network{runtime};
  RedisProcess server;
  std::optional<redis::Client> client;

  explicit Live(std::vector<std::string> settings = {"--save", ""})
      : server(runtime, network, {.folder = folder.path() + "/r", .settings = std::move(settings)}) {
    server.start();
    client.emplace(runtime, network, redis::ClientOptions{.nodes = {{"", server.endpoint()}}});
  }
  std::string url() const { return " --url redis://" + server.endpoint().to_string(); }
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client->call(command).reply; }
  std::string run(const std::string& arguments, int expected) {
    const bool elsewhere = arguments.find("--url") != std::string::npos;
    const Ran ran = holdfast(arguments + (elsewhere ? "" : url()) + " 2>&1 </dev/null");
    EXPECT_EQ(ran.exit, expected) << arguments << "\n" << ran.out;
    return ran.out;
  }
  // The rows by key, and by owner where a key has several.
  std::map<std::string, std::map<std::string, Json>> locks(const std::string& flags = "") {
    std::map<std::string, std::map<std::string, Json>> rows;
    const Json document = Json::parse(run("locks --json " + flags, 0));
    for (const Json& row : document.at("locks")) {
      rows[row.at("key")][row.at("owner").is_null() ? "" : std::string(row.at("owner"))] = row;
    }
    return rows;
  }
  // Everything that is in the server, as it is stored; but not until when waiters are taken for alive, for
  // they ask again by themselves.
  std::map<std::string, std::string> everything() {
    std::map<std::string, std::string> all;
    for (const redis::Reply& key : ask({"KEYS", "*"}).items) {
      if (!key.text.starts_with("holdfast:fair:patience:")) all[key.text] = ask({"DUMP", key.text}).text;
    }
    return all;
  }
};

// A task that asks for a lock, and is known to stand in the server's queue.
class Waiting {
 public:
  Waiting(Live& live, std::shared_ptr<Lock> lock, const std::string& queue) : lock_(std::move(lock)) {
    task_ = live.runtime.spawn("client", [this] {
      try {
        lock_->lock_interruptibly(stop_.get_token());
        owner_ = lock_->acquisition();
        lock_->release();
      } catch (const Interrupted&) {
      }
    });
    while (live.ask({"ZCARD", queue}).integer == 0) live.runtime.sleep_for(1ms);
    place_ = live.ask({"ZRANGE", queue, "0", "0"}).items.at(0).text;
  }
  ~Waiting() { stop_.request_stop(); }
  const std::string& place() const { return place_; }  // as whom it waits
  std::string owner() {                                // as whom it was granted the lock
    task_.join();
    return owner_;
  }

 private:
  const std::shared_ptr<Lock> lock_;
  std::string place_, owner_;
  std::stop_source stop_;
  Task task_;
};

void expect_row(const std::map<std::string, Json>& rows, const std::string& kind, const std::string& owner) {
  ASSERT_EQ(rows.count(owner), 1u) << owner << "\n" << Json(rows).dump();
  const Json& row = rows.at(owner);
  EXPECT_EQ(row.at("kind"), kind);
  EXPECT_GT(row.at("lease_left_ms"), 0);
  EXPECT_LE(row.at("lease_left_ms"), 60000);
}

TEST(LocksCommand, EveryKindOfLockIsListed) {
  Live live;
  redis::Client& client = *live.client;
  EXPECT_EQ(live.run("locks", 0), "nothing is held\n");

  std::vector<std::shared_ptr<Lock>> exclusive;
  ReentrantLocks reentrant(client, {.lease = kLease});
  NonReentrantLocks non_reentrant(client, {.lease = kLease});
  FairLocks fair(client, {.lease = kLease});
  SpinLocks spin(client, {.lease = kLease});
  Redlocks redlocks({&client}, {.lock = {.lease = kLease}});
  ReentrantLocks survivors(
      client,
      {.lease = 3s,
       .survivor = SurvivorOptions{.members = {live.server.endpoint().to_string()}, .longest_lease = 3s}});
  exclusive.push_back(reentrant.obtain("reentrant"));
  exclusive.push_back(non_reentrant.obtain("non-reentrant"));
  exclusive.push_back(fair.obtain("fair"));
  exclusive.push_back(spin.obtain("spin"));
  exclusive.push_back(redlocks.obtain("redlock"));
  exclusive.push_back(survivors.obtain("survivor"));
  const auto from = reentrant.obtain("account:1"), to = reentrant.obtain("account:2");
  MultiLock both({from, to});
  both.lock();
  for (const auto& lock : exclusive) lock->lock();
  FencedLocks fenced_locks(client, {.lease = kLease});
  const auto fenced = fenced_locks.obtain("fenced");
  fenced->lock();
  ReadWriteLocks tables(client, {.lock = {.lease = kLease}});
  const auto read = tables.obtain("read"), written = tables.obtain("write");
  ReadWriteLocks others(client, {.lock = {.lease = kLease}});
  const auto read_too = others.obtain("read");
  read->lock_shared();
  read_too->lock_shared();
  written->lock();
  Semaphores semaphores(client, {.lock = {.lease = kLease}, .permits = 5});
  const auto semaphore = semaphores.obtain("semaphore");
  semaphore->acquire(2);
  PermitSemaphore permits(client, "permits", {.lock = {.lease = kLease}, .permits = 3});
  const Permit one = permits.acquire(), two = permits.acquire(2);
  RedissonLocks redisson_locks(client, {.lease = kLease});
  const auto redisson = redisson_locks.obtain("redisson");
  redisson->lock();
  CountDownLatch latch(client, "latch");
  EXPECT_TRUE(latch.set(8));
  Waiting waiter(live, ReentrantLocks(client, {.lease = kLease}).obtain("reentrant"),
                 "holdfast:fair:queue:{reentrant}");

  // What is no lock.
  live.ask({"SET", "note", "nothing"});
  live.ask({"SET", "long", std::string(3'000'000, 'x')});
  live.ask({"HSET", "hash", "a", "1", "b", "2"});
  live.ask({"HSET", "single", "a", "1"});
  live.ask({"ZADD", "ranks", "1", one.id});
  live.ask({"SADD", "set", "x"});
  live.ask({"RPUSH", "list", "x"});

  // As a user who may do nothing but read, and not KEYS.
  live.ask({"ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+time", "+role", "+hello", "+info",
            "-keys"});
  auto rows = live.locks(" --url redis://reader:pw@" + live.server.endpoint().to_string());
  EXPECT_EQ(rows.size(), 15u) << Json(rows).dump(1);
  for (const auto& lock : exclusive) expect_row(rows[lock->key()], "exclusive", lock->acquisition());
  expect_row(rows["account:1"], "exclusive", from->acquisition());
  expect_row(rows["account:2"], "exclusive", to->acquisition());
  expect_row(rows["fenced"], "exclusive", fenced->acquisition());
  expect_row(rows["write"], "write", written->acquisition());
  EXPECT_EQ(rows["read"].size(), 2u);
  expect_row(rows["redisson"], "redisson", redisson->acquisition());
  ASSERT_EQ(rows["semaphore"].size(), 1u);
  EXPECT_EQ(rows["semaphore"].begin()->second.at("kind"), "semaphore");
  EXPECT_EQ(rows["semaphore"].begin()->second.at("permits"), 2);
  expect_row(rows["permits"], "semaphore", one.id);
  expect_row(rows["permits"], "semaphore", two.id);
  EXPECT_EQ(rows["permits"][one.id].at("permits"), 1);
  EXPECT_EQ(rows["permits"][two.id].at("permits"), 2);
  ASSERT_EQ(rows["latch"].size(), 1u);
  EXPECT_EQ(rows["latch"][""].at("count"), 8);

  const Json& with_token = rows["fenced"][fenced->acquisition()];
  EXPECT_EQ(with_token.at("token"), *fenced->token());
  EXPECT_EQ(with_token.at("since_ms"), *fenced->token() / 1000);
  const Json& contended = rows["reentrant"][exclusive[0]->acquisition()];
  EXPECT_EQ(contended.at("waiters"), 1);
  EXPECT_TRUE(contended.at("since_ms").is_null());
  EXPECT_TRUE(contended.at("token").is_null());
  EXPECT_EQ(rows["fair"][exclusive[2]->acquisition()].at("waiters"), 0);

  EXPECT_EQ(live.locks("--match 'acc*'").size(), 2u);
  const std::string table = live.run("locks", 0);
  EXPECT_NE(table.find("\nfenced         exclusive "), std::string::npos) << table;
  EXPECT_NE(table.find("latch at 8"), std::string::npos) << table;
  EXPECT_NE(table.find("semaphore x2"), std::string::npos) << table;
  EXPECT_EQ(table.find("note"), std::string::npos) << table;

  exclusive[0]->release();
  EXPECT_EQ(waiter.owner(), waiter.place());
}

TEST(LocksCommand, AWrongOwnerChangesNothing) {
  Live live;
  ReentrantLocks locks(*live.client, {.lease = kLease});
  ReadWriteLocks tables(*live.client, {.lock = {.lease = kLease}});
  const auto lock = locks.obtain("k");
  const auto table = tables.obtain("table");
  lock->lock();
  table->lock_shared();
  PermitSemaphore permits(*live.client, "permits", {.lock = {.lease = kLease}, .permits = 3});
  const Permit permit = permits.acquire();
  RedissonLocks redisson_locks(*live.client, {.lease = kLease});
  const auto redisson = redisson_locks.obtain("redisson");
  redisson->lock();
  CountDownLatch latch(*live.client, "latch");
  EXPECT_TRUE(latch.set(8));
  Waiting waiter(live, ReentrantLocks(*live.client, {.lease = kLease}).obtain("k"),
                 "holdfast:fair:queue:{k}");
  live.ask({"SET", "note", "nothing"});
  const auto before = live.everything();

  // Somebody else, and one who waits; what is held by nobody; what is no lock; what nobody confirmed.
  for (const std::string& owner : {permit.id, waiter.place(), std::string("''")}) {
    const std::string said = live.run("unlock k --yes --owner " + owner, 1);
    EXPECT_NE(said.find("k is held by " + lock->acquisition() + ", not by "), std::string::npos) << said;
    EXPECT_NE(said.find("nothing was changed"), std::string::npos) << said;
  }
  for (const char* const key : {"table", "permits", "redisson"}) {
    live.run(std::string("unlock --yes --owner ") + lock->acquisition() + " " + key, 1);
  }
  EXPECT_NE(live.run("unlock latch --yes --owner " + permit.id, 1).find("is a latch"), std::string::npos);
  EXPECT_NE(live.run("unlock none --yes --owner " + permit.id, 1).find("none is not held"),
            std::string::npos);
  EXPECT_NE(live.run("unlock note --yes --owner nothing", 1).find("note is not held"), std::string::npos);
  const std::string unasked = live.run("unlock k --owner " + lock->acquisition(), 64);
  EXPECT_NE(unasked.find("expected --yes"), std::string::npos) << unasked;

  // Who has become another one between the look and the script.
  EXPECT_FALSE(take_away(*live.client, {.key = "k", .owner = waiter.place()}).held);
  EXPECT_FALSE(take_away(*live.client, {.key = "k", .owner = permit.id}).held);
  EXPECT_FALSE(
      take_away(*live.client, {.key = "table", .kind = HeldLock::Kind::read, .owner = permit.id}).held);

  EXPECT_EQ(live.everything(), before);
  EXPECT_TRUE(lock->is_held_by_me());
  lock->release();
  waiter.owner();
}

TEST(LocksCommand, TheRightOwnerLosesItAndTheFirstWaiterHasIt) {
  Live live;
  ReentrantLocks plain(*live.client, {.lease = kLease});
  FencedLocks fenced(*live.client, {.lease = kLease});
  for (Locks* const locks : {static_cast<Locks*>(&plain), static_cast<Locks*>(&fenced)}) {
    const std::string key = locks == &plain ? "plain" : "fenced";
    const auto lock = locks->obtain(key);
    lock->lock();
    const std::string owner = lock->acquisition();
    FencedLocks others_fenced(*live.client, {.lease = kLease});
    ReentrantLocks others(*live.client, {.lease = kLease});
    Waiting waiter(live, locks == &plain ? others.obtain(key) : others_fenced.obtain(key),
                   "holdfast:fair:queue:{" + key + "}");
    const std::string said = live.run("unlock " + key + " --yes --owner " + owner, 0);
    ASSERT_EQ(said, key + " was taken away from " + owner + "\n" + waiter.place() + " now holds it\n");
    EXPECT_EQ(waiter.owner(), waiter.place()) << "it was called, and had the lock at once";
    EXPECT_THROW(lock->release(), LockLost);
    live.run("unlock " + key + " --yes --owner " + owner, 1);
  }
}

TEST(LocksCommand, EveryKindOfHoldCanBeTakenAway) {
  Live live;
  ReadWriteLocks tables(*live.client, {.lock = {.lease = kLease}});
  ReadWriteLocks others(*live.client, {.lock = {.lease = kLease}});
  const auto read = tables.obtain("read"), written = tables.obtain("write");
  read->lock_shared();
  const std::string reader = live.ask({"ZRANGE", "holdfast:rw:readers:{read}", "0", "0"}).items.at(0).text;
  const auto read_too = others.obtain("read");
  read_too->lock_shared();
  written->lock();
  PermitSemaphore permits(*live.client, "permits", {.lock = {.lease = kLease}, .permits = 3});
  const Permit one = permits.acquire(), two = permits.acquire(2);
  RedissonLocks redisson_locks(*live.client, {.lease = kLease});
  const auto redisson = redisson_locks.obtain("redisson");
  redisson->lock();
  ReentrantLocks survivors(
      *live.client,
      {.lease = 3s,
       .fencing = true,
       .survivor = SurvivorOptions{.members = {live.server.endpoint().to_string()}, .longest_lease = 3s}});
  const auto survivor = survivors.obtain("survivor");
  survivor->lock();  // after a quarantine

  live.run("unlock read --yes --owner " + reader, 0);
  live.run("unlock write --yes --owner " + written->acquisition(), 0);
  live.run("unlock permits --yes --owner " + two.id, 0);
  live.run("unlock redisson --yes --owner " + redisson->acquisition(), 0);
  live.run("unlock survivor --yes --owner " + survivor->acquisition(), 0);
  const auto rows = live.locks();
  EXPECT_EQ(rows.size(), 2u) << Json(rows).dump();
  EXPECT_EQ(rows.at("read").size(), 1u);
  EXPECT_EQ(rows.at("read").count(reader), 0u);
  EXPECT_EQ(rows.at("permits").count(one.id), 1u);
  EXPECT_EQ(permits.free_permits(), 2);
  EXPECT_FALSE(permits.release(two.id));
  EXPECT_THROW(written->release(), LockLost);
  EXPECT_THROW(redisson->release(), LockLost);
  EXPECT_THROW(survivor->release(), LockLost);
  EXPECT_THROW(read->release_shared(), LockLost);
}

// A person at a terminal is asked, and only "yes" is yes.
TEST(LocksCommand, APersonIsAsked) {
  Live live;
  ReentrantLocks locks(*live.client, {.lease = kLease});
  const auto lock = locks.obtain("k");
  lock->lock();
  const std::string command = kTool + " unlock k --owner " + lock->acquisition() + live.url();
  const auto answered = [&](const std::string& answer) {
    return run_shell("echo '" + answer + "' | script -qec '" + command + "' /dev/null");
  };
  Ran ran = answered("y");
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("k is held by " + lock->acquisition() + " (left: ")) << ran.out;
  EXPECT_TRUE(ran.says("not confirmed; nothing was changed")) << ran.out;
  EXPECT_EQ(live.locks().size(), 1u);
  ran = answered("yes");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("k was taken away from " + lock->acquisition())) << ran.out;
  EXPECT_EQ(live.locks().size(), 0u);
}

// One line, exit 69 (64 where the flag is wrong), and nothing else.
void expect_one_error(const std::string& arguments, int exit, const std::string& part) {
  for (const char* const command : {"locks", "unlock k --yes --owner x"}) {
    const Ran ran = holdfast(std::string(command) + arguments);
    EXPECT_EQ(ran.exit, exit) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("holdfast: ")) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
}

TEST(LocksCommand, WrongServersGetOneError) {
  expect_one_error(" --url redis://127.0.0.1:1", 69, "refused");
  expect_one_error(" --url http://localhost", 64, "--url: ");
  expect_one_error(" --url 'rediss://localhost?ca_file=/none'", 64, "--url: TLS: ca_file: there is no file");
  expect_one_error(" --url redis+cluster://localhost", 64, "--url: a Redis Cluster is not supported");
  Live live;
  const std::string primary = live.server.endpoint().to_string();
  {
    Live replica({"--save", "", "--replicaof", "127.0.0.1 " + std::to_string(live.server.endpoint().port)});
    expect_one_error(replica.url(), 69,
                     " is a replica of 127.0.0.1:" + std::to_string(live.server.endpoint().port));
    // Where the primary is named, too, it is found.
    const Ran ran = holdfast("locks" + replica.url() + live.url());
    EXPECT_EQ(ran.exit, 0) << ran.err;
  }
  {
    Live cluster({"--save", "", "--cluster-enabled", "yes"});
    expect_one_error(cluster.url(), 69, " is a node of a Redis Cluster, expected a Redis outside one");
  }
  live.ask({"CONFIG", "SET", "requirepass", "secret"});
  expect_one_error(live.url(), 69, "asks for a password");
  const Ran ran = holdfast("locks" + live.url(), "HOLDFAST_REDIS_PASSWORD=secret");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "nothing is held\n");
}

// Who may not read is told so, not that nothing is held.
TEST(LocksCommand, AUserWithoutTheRightsIsTold) {
  Live live;
  live.ask({"SET", "note", "nothing"});
  live.ask({"ACL", "SETUSER", "blind", "on", ">pw", "~*", "+scan", "+role", "+hello"});
  const Ran ran = holdfast("locks --url redis://blind:pw@" + live.server.endpoint().to_string());
  EXPECT_EQ(ran.exit, 69) << ran.out;
  EXPECT_NE(ran.err.find("TYPE"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace holdfast::tools
