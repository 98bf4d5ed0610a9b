-- Spring's RedisLockRegistry, obtain: granted when the key is the registry's already, or absent.
-- KEYS[1] the lock.  ARGV[1] the registry's client id.  ARGV[2] expiry in ms.
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return true
elseif not owner then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return true
end
return false
