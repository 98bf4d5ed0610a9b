-- Lock in Redisson's layout, forced release: removes the record, whoever has it, and wakes the waiters.
-- KEYS[1] the lock.  KEYS[2] its channel.
-- Returns 1 when somebody held it, else 0. What is no record of a lock is not removed: an error.
if redis.call('hlen', KEYS[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1
