-- Redisson 3.13.6, reentrant lock, acquire: free or mine already, one more; otherwise how long it is taken.
-- KEYS[1] the lock: a hash { owner: count }.  ARGV[1] lease in ms.  ARGV[2] owner "uuid:threadId".
-- Returns nil when granted, else the PTTL.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
