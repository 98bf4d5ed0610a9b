-- Reentrant and fair lock, acquire: asks for the wanted state "held by me", so that asking twice changes nothing but the
-- token. A refused asker that wants to wait keeps its place in the queue as long as it goes on asking.
-- KEYS[1] the lock: a string, its owner.  KEYS[2] the queue: a sorted set of owners by ticket; whole numbers insist on
-- their turn, halves do not.  KEYS[3] their patience: a sorted set of owners by the time (ms, this server's) until which
-- they are taken for alive.  KEYS[4] the last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] 1: in turn (fair), so that a free lock is the head's of the queue as long
-- as that one is alive; else a free lock is anybody's.  ARGV[4] 1: queue when refused.
-- ARGV[5] for how long the last token is kept, in ms (a day).
-- Returns {1, lease left[, token]} when it is mine now, else {0, ms until it is worth another look[, when queued: my
-- patience]}. Who stands in the queue may find itself the holder: see reentrant_release.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local lease, in_turn, waits = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4] == '1'

local function told(left)
  if not KEYS[4] then return {1, left} end
  -- A token for who asks again, too: who handed it over may have had none. The server's time keeps them rising when a
  -- failover or a restart has lost the last one.
  local time, kept = call('time'), ARGV[5] or 86400000
  local token = time[1] * 1000000 + time[2]
  local last = call('set', KEYS[4], string.format('%.0f', token), 'px', kept, 'get')
  if last and tonumber(last) >= token then
    token = last + 1
    call('set', KEYS[4], string.format('%.0f', token), 'px', kept)
  end
  return {1, left, token}
end

local function leave_queue()
  if call('zrem', queue, owner) == 1 then
    call('zrem', patience, owner)
  end
end

local head = in_turn and call('zrange', queue, 0, 0)[1]
-- The short way, for a lock that nobody wants. Where it is not let through, the rest finds out why. The kinds that come
-- with neither tokens nor turns have been refused by a SET just now.
if (KEYS[4] or in_turn) and (not head or head == owner) then
  local set = redis.pcall('set', key, owner, 'nx', 'px', ARGV[2])
  if set and set.ok then
    if waits and (head or not in_turn) then leave_queue() end
    return told(lease)
  end
end

local function grant(left)
  if left == -2 then
    call('set', key, owner, 'px', ARGV[2])
  else -- never shorten what was promised before; a write that needs no memory, so that the token's may follow
    call('pexpire', key, string.format('%.0f', math.max(left, lease)))
  end
  return told(math.max(left, lease))
end

local left = call('pttl', key)
local holder = left ~= -2 and call('get', key)
if holder == owner then
  return grant(left)
end
if left == -1 and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$')
    or left ~= -2 and (holder == 'readers' or holder:match(' write$')) then -- a read-write lock's
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local look_again = left
if in_turn then -- a waiter that has stopped asking is taken for dead: at the end the head of the queue is alive
  while head and head ~= owner and tonumber(call('zscore', patience, head) or 0) <= now do
    call('zrem', queue, head)
    call('zrem', patience, head)
    head = call('zrange', queue, 0, 0)[1]
  end
end
if left == -2 then
  if not head or head == owner then
    if waits then leave_queue() end
    return grant(left)
  end
  look_again = tonumber(call('zscore', patience, head)) - now -- until the head is known to have died
end
if look_again < 0 or look_again > lease then
  look_again = lease
end
if not waits then
  return {0, look_again}
end
if not call('zscore', queue, owner) then
  local last = call('zrange', queue, -1, -1, 'withscores')[2] or 0
  call('zadd', queue, math.floor(last) + (in_turn and 1 or 1.5), owner)
else
  call('zrem', patience, owner) -- a write that frees memory: who waits goes on waiting on a server that has none to spare
end
-- I ask again within a lease; a third more for the way.
local alive_until = now + lease + math.floor(lease / 3)
call('zadd', patience, string.format('%.0f', alive_until), owner)
for _, name in ipairs({queue, patience}) do
  if call('pttl', name) < alive_until - now then
    call('pexpire', name, alive_until - now)
  end
end
return {0, look_again, alive_until}
