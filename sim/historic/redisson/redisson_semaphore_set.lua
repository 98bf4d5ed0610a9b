-- Redisson 3.13.6, semaphore, trySetPermits: unless it is there.
-- KEYS[1] the free permits.  KEYS[2] the channel.  ARGV[1] how many.  Returns 1 when set, else 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('set', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
