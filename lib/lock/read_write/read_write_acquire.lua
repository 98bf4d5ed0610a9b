-- Read-write lock, acquire: many readers, or one writer. Asking twice changes nothing.
-- KEYS[1] the writer: a string, its owner, as the reentrant lock's.  KEYS[2] the readers: a sorted set of owners by
-- the end of their lease (ms, this server's time).  KEYS[3] the queue: owners by ticket.  KEYS[4] the writers among
-- them: owners by ticket.  KEYS[5] their patience: owners by the time until which they are taken for alive.
-- KEYS[6] the last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] "read" or "write".  ARGV[4] 1: queue when refused.
-- An owner that does not queue is refused while another one does. A reader need not wait for the readers before it in the queue.
-- Returns {1, lease left[, token]} when it is mine now, else {0, ms until it is worth another look[, 1 when queued]}.
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
  if first or token == 0 then -- 0: mine already, but the last token was lost since
    token = math.max(token + 1, time[1] * 1000000 + time[2])
    call('set', KEYS[6], integer(token), 'px', 86400000)
  end
  return {1, lease, token}
end

-- The first of `line` that has asked not too long ago; the dead before it leave the queue.
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
-- Readers ask, too: a key of another type is an error, not a writer.
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
-- I ask again within a lease; a third more for the way.
local alive = lease + math.floor(lease / 3)
call('zadd', patience, integer(now + alive), owner)
live_at_least(queue, alive)
live_at_least(patience, alive)
if not reading then live_at_least(writers, alive) end
return {0, look_again, 1}
