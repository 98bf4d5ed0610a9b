-- Redisson 3.13.6, read-write lock, unlock of the write side. A read hold of the owner stays.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] the message.  ARGV[2] lease in ms.  ARGV[3] the owner as a
-- writer.  Returns nil when it is not the owner's, 0 when it still writes, 1 when it does not, or it was
-- gone.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('publish', KEYS[2], ARGV[1])
  return 1
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) > 1 then
  redis.call('hset', KEYS[1], 'mode', 'read')
else
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], ARGV[1])
end
return 1
