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
local in_ms = 0
for _, next in ipairs(call('zrange', queue, 0, 1)) do
  local message = next .. ' ' .. string.format('%.0f', in_ms)
  if call('publish', 'holdfast:wake:' .. (next:match('^(.*):') or next), message) > 0 then
    break
  end
  local time = call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  in_ms = math.max(0, tonumber(call('zscore', patience, next) or 0) - now) + 1
end
return 1
