-- Reentrant lock, release: removes my record and wakes the waiters, both or neither.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] owner.
-- Returns 1 when it was mine, 0 when it was not (nothing is changed then).
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1
