-- Read-write lock, acquire: many readers, or one writer. Asks for the wanted state "held by me", so that asking twice
-- changes nothing but the token. A refused asker that wants to wait keeps its place in the queue as long as it goes on
-- asking.
-- KEYS[1] the lock, a string: "<owner> write", or "readers".  KEYS[2] the readers: a sorted set of owners by the end of
-- their lease (ms, this server's time); who reads is told by this alone.  KEYS[3] the queue: a sorted set of owners by
-- ticket; whole numbers insist on their turn, halves do not.  KEYS[4] the writers in it: owners by ticket.  KEYS[5] their
-- patience: owners by the time until which they are taken for alive.  KEYS[6] the last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] "read" or "write".  ARGV[4] 1: in turn (fair), so that nobody goes in
-- before a waiter that came first and is alive; only readers need not wait for the readers before them.  Else a lock
-- that nobody holds is anybody's, and so is a place beside readers, except for a reader that would rather wait where
-- a writer waits.  ARGV[5] 1: queue when refused.  ARGV[6] for how long the last token is kept, in ms (a day).
-- Returns {1, lease left[, token]} when it is mine now, else {0, ms until it is worth another look[, when queued: my
-- patience]}. Who stands in the queue may find itself a holder: see read_write_release.
local call, owner, reading = redis.call, ARGV[1], ARGV[3] == 'read'
local key, readers, queue, writers, patience = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lease, in_turn, waits = tonumber(ARGV[2]), ARGV[4] == '1', ARGV[5] == '1'
local function integer(number) return string.format('%.0f', number) end

local time = nil

local function told(left)
  if not KEYS[6] then return {1, left} end
  -- A token for who asks again, too: the last one may be another reader's by now. The server's time keeps them rising
  -- when a failover or a restart has lost the last one.
  local time, kept = time or call('time'), ARGV[6] or 86400000
  local token = time[1] * 1000000 + time[2]
  local last = call('set', KEYS[6], integer(token), 'px', kept, 'get')
  if last and tonumber(last) >= token then
    token = last + 1
    call('set', KEYS[6], integer(token), 'px', kept)
  end
  return {1, left, token}
end

-- The short way, for a lock that nobody wants. Where it is not let through, the rest finds out why.
if not reading and call('exists', readers, queue) == 0 then
  local set = redis.pcall('set', key, owner .. ' write', 'nx', 'px', ARGV[2])
  if set and set.ok then return told(lease) end
end

time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function live_at_least(name, ms) -- never shorten what was promised before
  local left = math.max(call('pttl', name), ms)
  call('pexpire', name, integer(left))
  return left
end

local function leave_queue(who)
  if call('zrem', queue, who) == 1 then
    call('zrem', writers, who)
    call('zrem', patience, who)
  end
end

local function grant(first)
  local left = lease
  if reading then
    local until_ms = math.max(now + lease, tonumber(call('zscore', readers, owner) or 0))
    call('zadd', readers, integer(until_ms), owner)
    left = until_ms - now
    call('set', key, 'readers', 'px', integer(live_at_least(readers, left)))
  elseif first then
    call('set', key, owner .. ' write', 'px', ARGV[2])
  else
    left = live_at_least(key, lease)
  end
  return told(left)
end

-- The first of `line` that has asked not too long ago; the dead before it leave the queue.
local function first_alive(line)
  local first = call('zrange', line, 0, 0)[1]
  while first and first ~= owner and tonumber(call('zscore', patience, first) or 0) <= now do
    leave_queue(first)
    first = call('zrange', line, 0, 0)[1]
  end
  return first
end

local function last_end() return tonumber(call('zrange', readers, -1, -1, 'withscores')[2]) end

local holder, read_until = call('get', key), last_end()
if read_until then
  call('zremrangebyscore', readers, '-inf', integer(now))
  if read_until <= now then read_until = nil end
end
local written = holder and holder ~= 'readers'
local before_this_version = false
if written and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+ write$') then
  -- A name alone is a reentrant lock's; or a writer's of the version before, whose uuids are of version 4.
  before_this_version = holder:match('^%x+%-%x+%-4%x+%-%x+%-%x+:%d+$')
  if not before_this_version then
    return redis.error_reply('WRONGTYPE the key holds something that is no read-write lock')
  end
end
if reading and read_until and call('zscore', readers, owner) or holder == owner .. ' write' then return grant(false) end

local free, before_me = not written and (reading or not read_until), nil
if free and (in_turn or reading and waits and read_until) then
  before_me = first_alive(reading and writers or queue)
  if before_me == owner then
    before_me = nil
  elseif before_me and reading then
    local mine = call('zscore', queue, owner)
    if mine and tonumber(mine) < tonumber(call('zscore', writers, before_me)) then before_me = nil end
  end
end
if free and not before_me then
  if waits then leave_queue(owner) end
  return grant(true)
end

local look_again
if written then
  look_again = call('pttl', key)
else
  before_this_version = read_until and not holder
  look_again = (before_me and call('zscore', patience, before_me) or read_until) - now
end
if look_again < 0 or look_again > lease then look_again = lease end
if before_this_version then look_again = math.min(look_again, 500) end -- its release will not call me
if not waits then return {0, look_again} end

local ticket = call('zscore', queue, owner)
if not ticket then
  ticket = math.floor(call('zrange', queue, -1, -1, 'withscores')[2] or 0) + (in_turn and 1 or 1.5)
  call('zadd', queue, ticket, owner)
else
  call('zrem', patience, owner) -- a write that frees memory: who waits goes on waiting without memory to spare
end
if not reading then call('zadd', writers, ticket, owner) end
-- I ask again within a lease; a third more for the way.
local alive = lease + math.floor(lease / 3)
call('zadd', patience, integer(now + alive), owner)
for i = 3, 5 do
  if call('pttl', KEYS[i]) < alive then call('pexpire', KEYS[i], alive) end
end
return {0, look_again, now + alive}
