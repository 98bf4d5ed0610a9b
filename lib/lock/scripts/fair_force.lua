-- Fair lock, forced release: removes the record, whoever has it, and tells whose turn it is. The queue stays.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the lock's channel.
-- The message is that of fair_release.
-- Returns 1 when somebody held it, else 0. What is no record of a lock is not removed: an error.
local call, queue, patience = redis.call, KEYS[2], KEYS[3]
local holder = call('get', KEYS[1])
if not holder then
  return 0
end
if not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
call('del', KEYS[1])
local next = call('zrange', queue, 0, 1)
local alive = 0
if next[1] then
  local time = call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  alive = math.max(0, tonumber(call('zscore', patience, next[1]) or 0) - now)
end
call('publish', KEYS[4], (next[1] or '') .. '\n' .. string.format('%.0f', alive) .. '\n' .. (next[2] or ''))
return 1
