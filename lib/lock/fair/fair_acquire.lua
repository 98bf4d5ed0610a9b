-- Fair lock, acquire: grants in the order in which the askers came; a refused asker that wants to wait keeps its
-- place in the queue as long as it goes on asking. Asking twice changes nothing.
-- KEYS[1] the lock: a string, its owner, as the reentrant lock's.  KEYS[2] the queue: a sorted set of owners by
-- ticket.  KEYS[3] their patience: a sorted set of owners by the time (ms, this server's) until which they
-- are taken for alive.  KEYS[4] the last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] 1: queue when refused.
-- Returns {1, lease left[, token]} when it is mine now, else {0, ms until it is worth another look[, when queued: my
-- patience]}. Who stands in the queue may find itself the holder: see fair_release.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local lease = tonumber(ARGV[2])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function grant(left)
  local token = tonumber(KEYS[4] and call('get', KEYS[4]) or 0)
  if left == -2 then
    call('set', key, owner, 'px', ARGV[2])
  end
  if KEYS[4] and (left == -2 or token == 0) then -- 0: mine already, but the counter was lost since
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

-- A waiter that has stopped asking is taken for dead: at the end the head of the queue is alive.
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
if left == -2 then -- free, but it is the head's turn: until that one is known to have died
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
-- I ask again within a lease; a third more for the way.
local alive_until = now + lease + math.floor(lease / 3)
call('zadd', patience, string.format('%.0f', alive_until), owner)
for _, name in ipairs({queue, patience}) do
  if call('pttl', name) < alive_until - now then
    call('pexpire', name, alive_until - now)
  end
end
return {0, look_again, alive_until}
