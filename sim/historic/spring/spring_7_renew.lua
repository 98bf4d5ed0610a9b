-- Spring's RedisLockRegistry 7, renewal: longer if the key is the registry's.
-- KEYS[1] the lock.  ARGV[1] the registry's client id.  ARGV[2] expiry in ms.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return true
end
return false
