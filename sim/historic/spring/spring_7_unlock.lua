-- Spring's RedisLockRegistry 7, unlock: removed if the key is the registry's.
-- KEYS[1] the lock.  ARGV[1] the registry's client id.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('UNLINK', KEYS[1])
  return true
end
return false
