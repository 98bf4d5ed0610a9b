-- Redisson 3.13.6, read-write lock, force unlock of one side.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] the message.  ARGV[2] the mode of that side.
-- Returns 1 when it was held in that mode, else 0.
if redis.call('hget', KEYS[1], 'mode') ~= ARGV[2] then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
