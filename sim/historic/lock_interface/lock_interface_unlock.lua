-- The hand-written lock, unlock: deletes the key if it still has the value of this thread.
-- KEYS[1] the lock.  ARGV[1] the thread's UUID.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
