-- Redisson since 3.24, reentrant lock, unlock that may be asked twice: the answer is kept for a while.
-- KEYS[1] the lock.  KEYS[2] its channel.  KEYS[3] "redisson_unlock_latch:{<key>}:<request>".
-- ARGV[1] the message.  ARGV[2] lease in ms.  ARGV[3] owner.  ARGV[4] the command that publishes.  ARGV[5] how
-- long the answer is kept, in ms.
-- Returns nil when it is not the owner's, 0 when it is still held, 1 when it is free.
local answered = redis.call('get', KEYS[3])
if answered ~= false then
  return tonumber(answered)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1
