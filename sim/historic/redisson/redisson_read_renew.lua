-- Redisson 3.13.6, read-write lock, renewal of the read side: the lock, and the timeouts of all its owners.
-- KEYS[1] the lock.  KEYS[2] what all timeouts begin with.  ARGV[1] lease in ms.  ARGV[2] owner.
-- Returns 1 when it was the owner's, else 0.
if redis.call('hget', KEYS[1], ARGV[2]) == false then
  return 0
end
redis.call('pexpire', KEYS[1], ARGV[1])
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
  local holds = tonumber(redis.call('hget', KEYS[1], field))
  for nth = holds or 0, 1, -1 do
    redis.call('pexpire', KEYS[2] .. ':' .. field .. ':rwlock_timeout:' .. nth, ARGV[1])
  end
end
return 1
