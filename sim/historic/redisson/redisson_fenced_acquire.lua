-- Redisson's fenced lock, acquire: free or mine already, one more, and a new token; otherwise how long it is
-- taken.
-- KEYS[1] the lock: a hash { owner: count }.  KEYS[2] the counter.  ARGV[1] lease in ms.  ARGV[2] owner.
-- Returns {-1, token} when granted, else {PTTL, -1}.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('incr', KEYS[2])
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {-1, tonumber(redis.call('get', KEYS[2]))}
end
return {redis.call('pttl', KEYS[1]), -1}
