-- Fair lock, forced release: removes the record, whoever has it, and tells whose turn it is. The queue stays.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the lock's channel.
-- Returns 1 when somebody held it, else 0.
if redis.call('del', KEYS[1]) == 0 then
  return 0
end
local next = redis.call('zrange', KEYS[2], 0, 1)
if next[1] then
  redis.call('publish', KEYS[4], next[1] .. '\n0\n' .. (next[2] or ''))
end
return 1
