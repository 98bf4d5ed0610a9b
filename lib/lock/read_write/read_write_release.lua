-- Read-write lock, release: ends my hold, or my place in the queue when I have given up, and tells who may ask.
-- KEYS[1] the writer.  KEYS[2] the readers.  KEYS[3] the queue.  KEYS[4] the writers in it.  KEYS[5] the patience of
-- its members.  KEYS[6] the lock's channel.  ARGV[1] owner.
-- The message: "" everybody; "r" every reader; else a writer's turn, in three lines: its owner, for how many ms that
-- one is taken for alive, and the next in the queue.
-- Returns 1 when I held it, else 0.
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
while next[1] and tonumber(call('zscore', KEYS[5], next[1]) or 0) <= now do -- known to be dead: not to be woken
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
