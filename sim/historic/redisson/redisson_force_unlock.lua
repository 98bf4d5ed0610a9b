-- Redisson 3.13.6, reentrant lock, force unlock: whoever holds it.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] the message.  Returns 1 when it was held, else 0.
if redis.call('del', KEYS[1]) == 0 then
  return 0
end
redis.call('publish', KEYS[2], ARGV[1])
return 1
