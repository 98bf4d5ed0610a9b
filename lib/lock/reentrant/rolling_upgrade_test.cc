// While processes of the version before run beside this one: whichever scripts a process has, nobody is
// granted what another one holds, and nothing is left behind.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

// The scripts of the version before, without their comments.
constexpr std::string_view kOldReentrantAcquire = R"lua(
local call, key, waiting, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local holder = call('get', key)
local called = holder and holder:sub(-7) == ' called'
if called then
  local process, number = holder:match('^(.*):(%d+) called$')
  local my_process, my_number = owner:match('^(.*):(%d+)$')
  if process and process == my_process and tonumber(number) <= tonumber(my_number) then
    holder = false
  end
end
local lease = tonumber(ARGV[2])
if holder and holder ~= owner then
  local left = call('pttl', key)
  if left == -1 and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  end
  if ARGV[3] == '1' then
    local time = call('time')
    call('zadd', waiting, 'nx', time[1] * 1000 + math.floor(time[2] / 1000), owner)
    local kept = math.floor(math.max(left, lease) * 4 / 3) + 1000
    if call('pttl', waiting) < kept then
      call('pexpire', waiting, string.format('%.0f', kept))
    end
  end
  if called then
    return {0, left, -1}
  end
  return {0, left}
end
if not holder then
  call('set', key, owner, 'px', ARGV[2])
else
  local left = call('pttl', key)
  if left > lease then
    lease = left
  else
    call('pexpire', key, ARGV[2])
  end
end
if ARGV[3] == '1' then
  call('zrem', waiting, owner)
end
if not KEYS[3] then
  return {1, lease}
end
local token = tonumber(call('get', KEYS[3]) or 0)
if not holder or token == 0 then
  local time = call('time')
  token = math.max(token + 1, time[1] * 1000000 + time[2])
  call('set', KEYS[3], string.format('%.0f', token), 'px', 86400000)
end
return {1, lease, token}
)lua";
constexpr std::string_view kOldReentrantRelease = R"lua(
local call, key, waiting, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
if not held then
  if owner then
    call('zrem', waiting, owner)
    if holder and holder ~= owner .. ' called' then
      return type(holder) == 'table' and holder or 0
    end
  elseif not holder or type(holder) == 'table' or holder:match(' called$') then
    return holder and type(holder) == 'table' and holder or 0
  elseif not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  else
    held = true
  end
end
local first = call('zpopmin', waiting)[1]
if not first then
  call('del', key)
  return held and 1 or 0
end
local function tell(whom, ms)
  return call('publish', 'holdfast:wake:' .. (whom:match('^(.*):') or whom), whom .. ms) > 0
end
while first and not tell(first, ' 0') do
  first = call('zpopmin', waiting)[1]
end
if not first then
  call('del', key)
  return held and 1 or 0
end
call('set', key, first .. ' called', 'px', 100)
local next = call('zrange', waiting, 0, 0)[1]
if next then
  tell(next, ' 101')
end
return held and 2 or 0
)lua";
constexpr std::string_view kOldFairAcquire = R"lua(
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local lease = tonumber(ARGV[2])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function grant(left)
  local token = tonumber(KEYS[4] and call('get', KEYS[4]) or 0)
  if left == -2 then
    call('set', key, owner, 'px', ARGV[2])
  end
  if KEYS[4] and (left == -2 or token == 0) then
    token = math.max(token + 1, time[1] * 1000000 + time[2])
    call('set', KEYS[4], string.format('%.0f', token), 'px', 86400000)
  end
  if left <= lease then
    call('pexpire', key, ARGV[2])
    left = lease
  end
  if KEYS[4] then
    return {1, left, token}
  end
  return {1, left}
end
local left = call('pttl', key)
local holder = left ~= -2 and call('get', key)
if holder == owner then
  return grant(left)
end
if left == -1 and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
local head = call('zrange', queue, 0, 0)[1]
while head and head ~= owner do
  local alive_until = tonumber(call('zscore', patience, head) or 0)
  if alive_until > now then break end
  call('zrem', queue, head)
  call('zrem', patience, head)
  head = call('zrange', queue, 0, 0)[1]
end
if left == -2 and (not head or head == owner) then
  call('zrem', queue, owner)
  call('zrem', patience, owner)
  return grant(left)
end
local look_again = left
if left == -2 then
  look_again = tonumber(call('zscore', patience, head)) - now
end
if look_again < 0 or look_again > lease then
  look_again = lease
end
if ARGV[3] ~= '1' then
  return {0, look_again}
end
if not call('zscore', queue, owner) then
  local last = call('zrange', queue, -1, -1, 'withscores')[2] or 0
  call('zadd', queue, last + 1, owner)
end
local alive_until = now + lease + math.floor(lease / 3)
call('zadd', patience, string.format('%.0f', alive_until), owner)
for _, name in ipairs({queue, patience}) do
  if call('pttl', name) < alive_until - now then
    call('pexpire', name, alive_until - now)
  end
end
return {0, look_again, alive_until}
)lua";
constexpr std::string_view kOldFairRelease = R"lua(
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
if not held then
  if owner then
    local left_queue = call('zrem', queue, owner) == 1
    call('zrem', patience, owner)
    if holder or not left_queue then
      return type(holder) == 'table' and holder or 0
    end
  elseif not holder or type(holder) == 'table' then
    return holder or 0
  elseif not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  else
    held = true
  end
end
local function channel(of) return 'holdfast:wake:' .. (of:match('^(.*):') or of) end
local popped = call('zpopmin', queue)
while popped[1] do
  local head, ticket = popped[1], popped[2]
  local time, alive_until = call('time'), call('zscore', patience, head)
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if alive_until and tonumber(alive_until) > now then
    local message, token = head .. ' held ' .. alive_until, nil
    if KEYS[4] then
      token = string.format('%.0f', math.max((call('get', KEYS[4]) or 0) + 1, time[1] * 1000000 + time[2]))
      message = message .. ' ' .. token
    end
    if call('publish', channel(head), message) > 0 then
      call('set', key, head, 'pxat', alive_until)
      call('zrem', patience, head)
      if token then
        call('set', KEYS[4], token, 'px', 86400000)
      end
      return {held and 1 or 0, head}
    end
    local behind = call('zrange', queue, 0, 0)[1]
    if behind then
      call('publish', channel(behind), behind .. string.format(' %.0f', alive_until - now + 1))
    end
    call('zadd', queue, ticket, head)
    if call('pttl', queue) == -1 then
      call('pexpire', queue, string.format('%.0f', alive_until - now))
    end
    break
  end
  call('zrem', patience, head)
  call('publish', channel(head), head .. ' 0')
  popped = call('zpopmin', queue)
end
if held then
  call('del', key)
end
return held and 1 or 0
)lua";

struct Process {
  std::string owner;
  std::string_view acquire, release;
  std::vector<std::string_view> keys, more_args;
};

class RollingUpgrade : public ::testing::TestWithParam<Where> {};

INSTANTIATE_TEST_SUITE_P(Ports, RollingUpgrade, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(RollingUpgrade, NobodyIsGrantedWhatAnotherVersionHolds) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    const std::vector<std::string_view> fair{"k", "holdfast:fair:queue:{k}", "holdfast:fair:patience:{k}"};
    const std::vector<std::string_view> waiting{"k", "holdfast:waiting:{k}"};
    std::vector<Process> processes;
    std::vector<std::unique_ptr<redis::Subscription>> subscriptions;
    std::atomic<int> listening = 0;
    for (int i = 0; i < 8; ++i) {
      const std::string uuid = "0000000" + std::to_string(i) + "-0000-4000-8000-000000000000";
      const std::string owner = uuid + ":1";
      switch (i % 4) {
        case 0:
          processes.push_back({owner, kOldReentrantAcquire, kOldReentrantRelease, waiting, {"1"}});
          break;
        case 1: processes.push_back({owner, kOldFairAcquire, kOldFairRelease, fair, {"1"}}); break;
        case 2:
          processes.push_back({owner, kReentrantAcquire.text, kReentrantRelease.text, fair, {"0", "1"}});
          break;
        case 3:
          processes.push_back({owner, kReentrantAcquire.text, kReentrantRelease.text, fair, {"1", "1"}});
          break;
      }
      if (i < 4) continue;  // the others do not listen
      subscriptions.push_back(client.subscribe(
          "holdfast:wake:" + uuid, [](std::string_view) {}, [&] { ++listening; }));
    }
    while (listening < 4) fixture.runtime.sleep_for(1ms);

    std::optional<std::string> holder;
    std::array<int, 8> granted{};
    std::uint64_t drawn = 42;
    for (int step = 0; step < 4000; ++step) {
      drawn = drawn * 6364136223846793005u + 1442695040888963407u;
      const std::size_t number = (drawn >> 33) % processes.size();
      const Process& process = processes[number];
      const bool acquires = (drawn >> 60) < 9;
      if (acquires) {
        std::vector<std::string_view> args{process.owner, "60000"};
        args.insert(args.end(), process.more_args.begin(), process.more_args.end());
        std::vector<std::string_view> command{"EVAL", process.acquire};
        const std::string count = std::to_string(process.keys.size());
        command.push_back(count);
        command.insert(command.end(), process.keys.begin(), process.keys.end());
        command.insert(command.end(), args.begin(), args.end());
        const redis::Reply reply = client.call(command).reply;
        ASSERT_GE(reply.items.size(), 2u);
        if (reply.items[0].integer == 1) {
          ASSERT_TRUE(!holder || *holder == process.owner)
              << *holder << " holds, " << process.owner << " is granted";
          holder = process.owner;
          ++granted[number];
        } else {
          ASSERT_NE(holder, process.owner) << "a holder is refused";
        }
      } else {
        std::vector<std::string_view> command{"EVAL", process.release};
        const std::string count = std::to_string(process.keys.size());
        command.push_back(count);
        command.insert(command.end(), process.keys.begin(), process.keys.end());
        command.push_back(process.owner);
        const redis::Reply reply = client.call(command).reply;
        ASSERT_EQ(released(reply) >= 1, holder == process.owner) << process.owner;
        if (holder == process.owner) holder.reset();
        if (reply.items.size() > 1) {
          ASSERT_FALSE(holder) << "handed to a second one";
          holder = reply.items[1].text;
        }
      }
      const redis::Reply record = client.call({"GET", "k"}).reply;
      if (holder) {
        ASSERT_EQ(record.text, *holder);
      } else {
        ASSERT_TRUE(record.is_nil() || record.text.ends_with(" called")) << record.text;
      }
    }
    for (const int times : granted) EXPECT_GT(times, 0);
  });
}

}  // namespace
}  // namespace holdfast
