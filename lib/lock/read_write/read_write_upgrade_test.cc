// While processes of the version before run beside this one: nobody is granted a read-write lock that another
// one's hold excludes, whichever scripts the two have, and nothing is left behind.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/redis/error.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Where;

// The scripts of the version before, without their comments.
constexpr std::string_view kOldAcquire = R"lua(
local call, owner, reading = redis.call, ARGV[1], ARGV[3] == 'read'
local writer, readers, queue, writers, patience = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lease = tonumber(ARGV[2])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function integer(number) return string.format('%.0f', number) end
local function live_at_least(name, ms)
  if call('pttl', name) < ms then call('pexpire', name, integer(ms)) end
end
local function grant(first)
  if reading then
    local until_ms = math.max(now + lease, tonumber(call('zscore', readers, owner) or 0))
    call('zadd', readers, integer(until_ms), owner)
    live_at_least(readers, until_ms - now)
  else
    if first then call('set', writer, owner, 'px', ARGV[2]) end
    live_at_least(writer, lease)
  end
  if not KEYS[6] then return {1, lease} end
  local token = tonumber(call('get', KEYS[6]) or 0)
  if first or token == 0 then
    token = math.max(token + 1, time[1] * 1000000 + time[2])
    call('set', KEYS[6], integer(token), 'px', 86400000)
  end
  return {1, lease, token}
end
local function first_alive(line)
  local first = call('zrange', line, 0, 0)[1]
  while first and first ~= owner and tonumber(call('zscore', patience, first) or 0) <= now do
    call('zrem', queue, first)
    call('zrem', writers, first)
    call('zrem', patience, first)
    first = call('zrange', line, 0, 0)[1]
  end
  return first
end
call('zremrangebyscore', readers, '-inf', integer(now))
if reading and call('zscore', readers, owner) then return grant(false) end
local write_left = call('pttl', writer)
local holder = call('get', writer)
if holder == owner and not reading then return grant(false) end
if write_left == -1 and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
local before_me = first_alive(queue)
if reading then
  before_me = first_alive(writers)
  local mine = before_me and call('zscore', queue, owner)
  if mine and tonumber(mine) < tonumber(call('zscore', writers, before_me)) then before_me = nil end
elseif before_me == owner then
  before_me = nil
end
local read_by = call('zrange', readers, -1, -1, 'withscores')[2]
local free = write_left == -2 and (reading or not read_by)
if free and not before_me then
  call('zrem', queue, owner)
  call('zrem', writers, owner)
  call('zrem', patience, owner)
  return grant(true)
end
local look_again = write_left
if write_left == -2 then
  local wait_for = free and call('zscore', patience, before_me) or read_by
  look_again = tonumber(wait_for) - now
end
if look_again < 0 or look_again > lease then look_again = lease end
if ARGV[4] ~= '1' then return {0, look_again} end
local ticket = call('zscore', queue, owner)
if not ticket then
  ticket = integer((call('zrange', queue, -1, -1, 'withscores')[2] or 0) + 1)
  call('zadd', queue, ticket, owner)
end
if not reading then call('zadd', writers, ticket, owner) end
local alive = lease + math.floor(lease / 3)
call('zadd', patience, integer(now + alive), owner)
live_at_least(queue, alive)
live_at_least(patience, alive)
if not reading then live_at_least(writers, alive) end
return {0, look_again, 1}
)lua";
constexpr std::string_view kOldRelease = R"lua(
local call, owner, queue = redis.call, ARGV[1], KEYS[3]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ms = tonumber(call('zscore', KEYS[2], owner) or 0)
local wrote = call('get', KEYS[1]) == owner
local held = (wrote or until_ms > now) and 1 or 0
if wrote then call('del', KEYS[1]) end
call('zrem', KEYS[2], owner)
call('zremrangebyscore', KEYS[2], '-inf', string.format('%.0f', now))
local queued = call('zrem', queue, owner)
call('zrem', KEYS[4], owner)
call('zrem', KEYS[5], owner)
if (held == 0 and queued == 0) or call('exists', KEYS[1]) == 1 then return held end
local free = call('zcard', KEYS[2]) == 0
local next = call('zrange', queue, 0, 1)
while next[1] and tonumber(call('zscore', KEYS[5], next[1]) or 0) <= now do
  call('zrem', queue, next[1])
  call('zrem', KEYS[4], next[1])
  call('zrem', KEYS[5], next[1])
  next = call('zrange', queue, 0, 1)
end
if not next[1] then
  if free then call('publish', KEYS[6], '') end
elseif not call('zscore', KEYS[4], next[1]) then
  call('publish', KEYS[6], 'r')
elseif free then
  local alive = math.max(0, tonumber(call('zscore', KEYS[5], next[1]) or 0) - now)
  call('publish', KEYS[6], next[1] .. '\n' .. string.format('%.0f', alive) .. '\n' .. (next[2] or ''))
end
return held
)lua";
constexpr std::string_view kOldDowngrade = R"lua(
local call, owner = redis.call, ARGV[1]
local lease = tonumber(ARGV[2])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local was_writer = call('get', KEYS[1]) == owner
local until_ms = tonumber(call('zscore', KEYS[2], owner) or 0)
if not was_writer and until_ms <= now then return 0 end
until_ms = math.max(until_ms, now + lease)
if was_writer then call('del', KEYS[1]) end
call('zremrangebyscore', KEYS[2], '-inf', 0)
call('zadd', KEYS[2], string.format('%.0f', until_ms), owner)
if call('pttl', KEYS[2]) < until_ms - now then call('pexpire', KEYS[2], string.format('%.0f', until_ms - now)) end
if not was_writer then return 1 end
local head = call('zrange', KEYS[3], 0, 0)[1]
if not head then
  call('publish', KEYS[6], '')
elseif not call('zscore', KEYS[4], head) then
  call('publish', KEYS[6], 'r')
end
return 1
)lua";
constexpr std::string_view kOldForce = R"lua(
local holder = redis.call('get', KEYS[1])
if holder and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
if not holder and redis.call('zcard', KEYS[2]) == 0 then return 0 end
redis.call('del', KEYS[1], KEYS[2])
redis.call('publish', KEYS[6], '')
return 1
)lua";
constexpr std::string_view kOldRenew = R"lua(
local lease = tonumber(ARGV[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 1, #KEYS / 2 do
  local writer, readers, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i + 1]
  local wrote = redis.pcall('get', writer)
  local until_ms = redis.pcall('zscore', readers, owner)
  if type(wrote) == 'table' then
    answers[i] = wrote.err
  elseif type(until_ms) == 'table' then
    answers[i] = until_ms.err
  elseif wrote == owner then
    if redis.call('pttl', writer) < lease then redis.call('pexpire', writer, ARGV[1]) end
    answers[i] = 1
  elseif until_ms and tonumber(until_ms) > now then
    local longer = math.max(tonumber(until_ms), now + lease)
    redis.call('zremrangebyscore', readers, '-inf', 0)
    redis.call('zadd', readers, string.format('%.0f', longer), owner)
    if redis.call('pttl', readers) < longer - now then
      redis.call('pexpire', readers, string.format('%.0f', longer - now))
    end
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
)lua";

const std::vector<std::string_view> kOldKeys{"k",
                                             "holdfast:rw:readers:{k}",
                                             "holdfast:rw:queue:{k}",
                                             "holdfast:rw:writers:{k}",
                                             "holdfast:rw:patience:{k}",
                                             "holdfast:rw:channel:{k}"};
const std::vector<std::string_view> kKeys{"k",
                                          "holdfast:rw:readers:{k}",
                                          "holdfast:rw:line:{k}",
                                          "holdfast:rw:line-writers:{k}",
                                          "holdfast:rw:line-patience:{k}",
                                          "holdfast:rw:channel:{k}"};

struct Process {
  std::string owner;
  bool before, fair, reads;  // `before`: of the version before
};

redis::Reply eval(redis::Client& client, std::string_view script, const std::vector<std::string_view>& keys,
                  std::size_t count, std::initializer_list<std::string_view> args) {
  std::vector<std::string_view> command{"EVAL", script};
  const std::string number = std::to_string(count);
  command.push_back(number);
  command.insert(command.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count));
  command.insert(command.end(), args);
  return client.call(redis::Arguments(command)).reply;
}

redis::Reply acquire(redis::Client& client, const Process& process) {
  const std::string_view side = process.reads ? "read" : "write";
  if (!process.before) {
    return eval(client, kReadWriteAcquire.text, kKeys, 5,
                {process.owner, "60000", side, process.fair ? "1" : "0", "1"});
  }
  if (process.fair) return eval(client, kOldAcquire, kOldKeys, 5, {process.owner, "60000", side, "1"});
  return eval(client, kOldAcquire, kOldKeys, 5, {process.owner, "60000", side});
}

redis::Reply release(redis::Client& client, const Process& process) {
  if (process.before) return eval(client, kOldRelease, kOldKeys, 6, {process.owner});
  return eval(client, kReadWriteRelease.text, kKeys, 6, {process.owner});
}

redis::Reply downgrade(redis::Client& client, const Process& process) {
  if (process.before) return eval(client, kOldDowngrade, kOldKeys, 6, {process.owner, "60000"});
  return eval(client, kReadWriteRelease.text, kKeys, 6, {process.owner, "", "60000"});
}

redis::Reply force(redis::Client& client, const Process& process) {
  return process.before ? eval(client, kOldForce, kOldKeys, 6, {})
                        : eval(client, kReadWriteRelease.text, kKeys, 6, {});
}

redis::Reply renew(redis::Client& client, const Process& process) {
  return process.before ? eval(client, kOldRenew, kOldKeys, 2, {"60000", process.owner})
                        : eval(client, kReadWriteRenew.text, kKeys, 2, {"60000", process.owner});
}

class ReadWriteUpgrade : public ::testing::TestWithParam<Where> {};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteUpgrade, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ReadWriteUpgrade, NobodyIsGrantedWhatAnotherVersionHolds) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    std::vector<Process> processes;
    std::vector<std::unique_ptr<redis::Subscription>> subscriptions;
    std::atomic<int> listening = 0;
    for (int i = 0; i < 16; ++i) {
      const bool before = i % 2 == 0;
      const std::string uuid =
          "000000" + std::to_string(10 + i) + (before ? "-0000-4000" : "-0000-8000") + "-8000-000000000000";
      processes.push_back({uuid + ":1", before, i / 2 % 2 == 0, i / 4 % 2 == 0});
      if (i < 8) continue;  // the others do not listen
      subscriptions.push_back(client.subscribe(
          "holdfast:wake:" + uuid, [](std::string_view) {}, [&] { ++listening; }));
    }
    while (listening < 8) fixture.runtime.sleep_for(1ms);

    std::optional<std::string> writer;
    std::set<std::string> readers;
    const auto granted = [&](const std::string& owner, bool reads) {
      if (reads) {
        ASSERT_FALSE(writer) << *writer << " writes, " << owner << " reads";
        readers.insert(owner);
      } else {
        ASSERT_TRUE(!writer || *writer == owner) << *writer << " writes, " << owner << " writes";
        ASSERT_TRUE(readers.empty()) << *readers.begin() << " reads, " << owner << " writes";
        writer = owner;
      }
    };
    const auto handed_over = [&](const redis::Reply& reply) {
      for (std::size_t at = 1; at + 1 < reply.items.size(); at += 2) {
        granted(reply.items[at].text, reply.items[at + 1].text == "read");
      }
    };
    std::array<int, 16> grants{};
    std::uint64_t drawn = 42;
    for (int step = 0; step < 8000 && !::testing::Test::HasFatalFailure(); ++step) {
      drawn = drawn * 6364136223846793005u + 1442695040888963407u;
      const std::size_t number = (drawn >> 33) % processes.size();
      const Process& process = processes[number];
      const bool reads = readers.contains(process.owner), writes = writer == process.owner;
      const auto act = static_cast<int>((drawn >> 40) % 100);
      if (act < 50) {
        if (reads && !process.reads) continue;  // became a reader: a client does not ask for more then
        const redis::Reply reply = acquire(client, process);
        ASSERT_GE(reply.items.size(), 2u) << reply.text;
        if (reply.items[0].integer == 1) {
          granted(process.owner, process.reads);
          ++grants[number];
        } else {
          ASSERT_FALSE(reads || writes) << "a holder is refused";
        }
      } else if (act < 90) {
        const redis::Reply reply = release(client, process);
        ASSERT_EQ(released(reply) >= 1, reads || writes) << process.owner;
        readers.erase(process.owner);
        if (writes) writer.reset();
        handed_over(reply);
      } else if (act < 94) {
        const redis::Reply reply = renew(client, process);
        ASSERT_EQ(reply.items.size(), 1u);
        ASSERT_EQ(reply.items[0].integer, reads || writes ? 1 : 0);
      } else if (act < 99) {
        if (!writes) continue;
        const redis::Reply reply = downgrade(client, process);
        ASSERT_EQ(released(reply), 1);
        writer.reset();
        readers.insert(process.owner);
        handed_over(reply);
      } else {
        try {
          const redis::Reply reply = force(client, process);
          ASSERT_EQ(released(reply) >= 1, writer || !readers.empty());
          writer.reset();
          readers.clear();
          handed_over(reply);
        } catch (const redis::Error&) {  // the version before does not understand the record
          ASSERT_TRUE(process.before);
        }
      }
      std::set<std::string> stand;
      for (const redis::Reply& reader : ask(client, {"ZRANGE", kKeys[1], "0", "-1"}).items) {
        stand.insert(reader.text);
      }
      ASSERT_EQ(stand, readers);
      const redis::Reply record = ask(client, {"GET", "k"});
      if (writer) {
        ASSERT_EQ(record.text.substr(0, writer->size()), *writer);
      } else {  // where the last reader was of the version before, the mark stays until its lease ends
        ASSERT_TRUE(record.is_nil() || record.text == "readers") << record.text;
      }
    }
    for (const int times : grants) EXPECT_GT(times, 0);
  });
}

// A process of the version before waits behind one of this version: a release that leaves the lock free tells
// it.
TEST_P(ReadWriteUpgrade, WhoWaitsIsToldOnTheChannelOfBefore) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::PeerOf<ReadWriteLocks, ReadWriteOptions> peer(fixture, {.lock = {.lease = 60s}});
    testing::Sign subscribed(fixture.runtime), told(fixture.runtime);
    const auto subscription = peer.client.subscribe(
        std::string(kOldKeys[5]), [&](std::string_view message) { message.empty() ? told.give() : void(); },
        [&] { subscribed.give(); });
    subscribed.wait();
    const auto lock = peer.obtain();
    lock->lock();
    lock->unlock();
    told.wait(1);
    lock->lock_shared();
    lock->unlock_shared();
    told.wait(2);
  });
}

// The other way round nobody calls: a process of this version asks twice a second.
TEST_P(ReadWriteUpgrade, WhoHoldsDoesNotCall) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::PeerOf<ReadWriteLocks, ReadWriteOptions> peer(fixture, {.lock = {.lease = 60s}});
    const auto lock = peer.obtain();
    for (const bool reads : {false, true}) {
      const Process before{"00000001-0000-4000-8000-000000000000:1", true, false, reads};
      ASSERT_EQ(acquire(peer.client, before).items.at(0).integer, 1);
      Task waiter = fixture.runtime.spawn("client", [&] {
        lock->lock();
        lock->unlock();
      });
      peer.observer.wait_for(LockEvent::Kind::queued, reads ? 4 : 2);
      const MonotonicTime released = fixture.runtime.now();
      ASSERT_EQ(release(peer.client, before).integer, 1);
      waiter.join();
      EXPECT_LT(fixture.runtime.now() - released, 20s);
      if (GetParam() == Where::embedded) {
        EXPECT_LT(fixture.runtime.now() - released, 1s);
      }
    }
  });
}

}  // namespace
}  // namespace holdfast
