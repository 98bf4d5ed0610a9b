-- Redisson 3.13.6, read-write lock, acquire of the write side. Who reads is no writer, whoever it is.
-- KEYS[1] the lock.  ARGV[1] lease in ms.  ARGV[2] the owner as a writer.
-- Returns nil when granted, else the PTTL.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
