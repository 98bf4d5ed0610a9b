-- Semaphore, acquire: takes permits when so many are free. Asking twice changes nothing but the token. A refused asker
-- that wants to wait keeps its place in the queue as long as it goes on asking.
-- KEYS[1] the holders: a sorted set of owners by the end of their lease (ms, this server's time).  KEYS[2] what they
-- took: a hash { owner: permits, used: sum }.  KEYS[3] how many permits there are, if that was set.  KEYS[4] the queue: a
-- sorted set of owners by ticket.  KEYS[5] their patience: owners by the time until which they are taken for alive.
-- KEYS[6] what they want: a hash { owner: "<permits> <how many there are, for this one, unless it was set>" }.  KEYS[7] the
-- last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] how many permits there are unless it was set.  ARGV[4] how many to take.
-- ARGV[5] 1: queue when refused.  ARGV[6] for how long the last token is kept, in ms (a day).
-- Permits that are too few for the first in the queue are kept for it; those that it could take and has not are anybody's.
-- Returns {1, lease left[, token]} when they are mine now, else {0, ms until the first lease ends[, when queued: my
-- patience]}. Who stands in the queue may find itself a holder: see semaphore_release.
local call, holders, taken, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local queue, patience, wants = KEYS[4], KEYS[5], KEYS[6]
local lease, wanted = tonumber(ARGV[2]), tonumber(ARGV[4])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function integer(number) return string.format('%.0f', number) end

local function live_at_least(name, ms, new)
  if new or call('pttl', name) < ms then call('pexpire', name, integer(ms)) end
end

local function leave_queue(who)
  if call('zrem', queue, who) == 1 then
    call('zrem', patience, who)
    call('hdel', wants, who)
  end
end

local function first_end() return tonumber(call('zrange', holders, 0, 0, 'withscores')[2]) end

local next_end, until_ms = first_end(), 0
if next_end and next_end <= now then
  for _, late in ipairs(call('zrangebyscore', holders, '-inf', integer(now), 'limit', 0, 1000)) do
    call('zrem', holders, late)
    call('hincrby', taken, 'used', -tonumber(call('hget', taken, late) or 0))
    call('hdel', taken, late)
  end
  next_end = first_end()
end
local used = tonumber(call('hget', taken, 'used') or 0)
if next_end then
  until_ms = tonumber(call('zscore', holders, owner) or 0)
elseif used ~= 0 then
  call('del', taken) -- the holders' key went with the last of them; what they took must not outlive them
  used = 0
end
local first = until_ms == 0
if first then
  local permits = tonumber(call('get', KEYS[3]) or ARGV[3])
  if wanted > permits then
    leave_queue(owner)
    return redis.error_reply('TOOMANY ' .. wanted .. ' permits were asked for where there are ' .. permits)
  end
  local fits = used + wanted <= permits
  local head = fits and call('zrange', queue, 0, 0)[1]
  local queued = head ~= nil
  while head and head ~= owner do
    if tonumber(call('zscore', patience, head) or 0) > now then
      local its = tonumber(string.match(call('hget', wants, head) or '', '^%d+') or 0)
      fits = used + its <= permits
      break
    end
    leave_queue(head) -- a waiter that has stopped asking is taken for dead
    head = call('zrange', queue, 0, 0)[1]
  end
  if not fits then
    local look_again = next_end and math.max(0, next_end - now) or lease
    if ARGV[5] ~= '1' then return {0, look_again} end
    if not call('zscore', queue, owner) then
      call('zadd', queue, (call('zrange', queue, -1, -1, 'withscores')[2] or 0) + 1, owner)
      call('hset', wants, owner, ARGV[4] .. ' ' .. ARGV[3])
    else
      call('zrem', patience, owner) -- a write that frees memory: who waits goes on waiting without memory to spare
    end
    -- I ask again within a lease; a third more for the way.
    look_again = math.min(look_again, lease)
    local alive = lease + math.floor(lease / 3)
    call('zadd', patience, integer(now + alive), owner)
    for i = 4, 6 do live_at_least(KEYS[i], alive) end
    return {0, look_again, now + alive}
  end
  if queued then leave_queue(owner) end
  call('hset', taken, owner, wanted, 'used', used + wanted)
else
  call('zremrangebyscore', holders, '-inf', 0) -- a write that needs no memory, so that the next ones may follow
end
until_ms = math.max(until_ms, now + lease)
call('zadd', holders, integer(until_ms), owner)
for i = 1, 2 do live_at_least(KEYS[i], until_ms - now, not next_end) end
if not KEYS[7] then return {1, until_ms - now} end
-- Asked again, too: the last token may be another holder's by now.
local token = math.max((call('get', KEYS[7]) or 0) + 1, time[1] * 1000000 + time[2])
call('set', KEYS[7], integer(token), 'px', ARGV[6] or 86400000)
return {1, until_ms - now, token}
