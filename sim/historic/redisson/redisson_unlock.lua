-- Redisson 3.13.6, reentrant lock, unlock: one less; at zero the lock goes and a waiter is woken.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] the message.  ARGV[2] lease in ms.  ARGV[3] owner.
-- Returns nil when it is not the owner's, 0 when it is still held, 1 when it is free.
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
