-- Fair lock, forced release: removes the record, whoever has it, and calls whose turn it is. The queue stays.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  The messages are those of fair_release.
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
local in_ms = '0'
for i, waiting in ipairs(next) do
  call('publish', 'holdfast:wake:' .. (waiting:match('^(.*):') or waiting), waiting .. ' ' .. in_ms)
  if next[i + 1] then
    local time = call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    in_ms = string.format('%.0f', math.max(0, tonumber(call('zscore', patience, waiting) or 0) - now) + 1)
  end
end
return 1
