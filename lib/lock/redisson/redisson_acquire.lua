-- Lock in Redisson's layout, acquire: asks for the wanted state "held by me, once", so that asking twice changes nothing. A
-- refused asker that wants to wait keeps its place in the queue as long as it goes on asking.
-- KEYS[1] the lock: a hash { owner: count }.  Redisson's clients know nothing of the others: KEYS[2] the queue: a sorted set
-- of owners by ticket.  KEYS[3] their patience: owners by the time (ms, this server's) until which they are taken for
-- alive.  KEYS[4] how often in a row it was ours; or "left" while it is left to Redisson's clients.
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] 1: queue when refused. Then a lock that is left to them is not taken.
-- Returns {1, lease left} when it is mine now, else {0, ms until it is worth another look[, when queued: my patience, and
-- 1 when I am the first and have to listen to Redisson's channel, as the holder is none of us]}. Who stands in the queue
-- may find itself the holder: see redisson_release.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local lease, waits = tonumber(ARGV[2]), ARGV[3] == '1'
local left = call('pttl', key)
local mine = left ~= -2 and call('hexists', key, owner) == 1
local look_again, foreign = left, false
if left == -2 then
  look_again = waits and call('get', KEYS[4]) == 'left' and call('pttl', KEYS[4])
elseif not mine then
  if call('hexists', key, 'left') == 1 then
    return redis.error_reply('WRONGTYPE the key holds a latch, which is no lock')
  end
  foreign = not call('hkeys', key)[1]:match('^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$') -- Redisson's uuids are of version 4
end
if mine or not look_again then
  if waits and not mine then
    call('zrem', queue, owner)
    call('zrem', patience, owner)
  end
  if not mine then call('hset', key, owner, 1) end
  if left <= lease then -- never shorten what was promised before
    call('pexpire', key, ARGV[2])
    left = lease
  end
  return {1, left}
end
if look_again < 0 or look_again > lease then look_again = lease end
if not waits then return {0, look_again} end

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not call('zscore', queue, owner) then
  call('zadd', queue, (call('zrange', queue, -1, -1, 'withscores')[2] or 0) + 1, owner)
else
  call('zrem', patience, owner) -- a write that frees memory: who waits goes on waiting on a server that has none to spare
end
-- I ask again within a lease; a third more for the way.
local alive_until = now + lease + math.floor(lease / 3)
call('zadd', patience, string.format('%.0f', alive_until), owner)
for _, name in ipairs({queue, patience}) do
  if call('pttl', name) < alive_until - now then call('pexpire', name, alive_until - now) end
end
local first = call('zrange', queue, 0, 0)[1]
while first ~= owner and tonumber(call('zscore', patience, first) or 0) <= now do -- taken for dead
  call('zrem', queue, first)
  call('zrem', patience, first)
  first = call('zrange', queue, 0, 0)[1]
end
return {0, look_again, alive_until, foreign and first == owner and 1 or 0}
