-- Spring's RedisLockRegistry 7, unlock with pub/sub: removed if the key is the registry's, and told.
-- KEYS[1] the lock.  ARGV[1] the registry's client id.  ARGV[2] the channel.
if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('UNLINK', KEYS[1]) == 1 then
  redis.call('PUBLISH', ARGV[2], KEYS[1])
  return true
end
return false
