-- Redisson 3.13.6, fair lock, unlock.
-- KEYS[1..3] as in redisson_fair_acquire.  KEYS[4] the lock's channel; a waiter listens to <channel>:<owner>.
-- ARGV[1] the message.  ARGV[2] lease in ms.  ARGV[3] owner.  ARGV[4] now.
-- Returns nil when it is not the owner's, 0 when it is still held, 1 when it is free, or was gone before.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  if tonumber(redis.call('zscore', KEYS[3], head)) > tonumber(ARGV[4]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end
if redis.call('exists', KEYS[1]) == 0 then
  local head = redis.call('lindex', KEYS[2], 0)
  if head ~= false then
    redis.call('publish', KEYS[4] .. ':' .. head, ARGV[1])
  end
  return 1
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
local head = redis.call('lindex', KEYS[2], 0)
if head ~= false then
  redis.call('publish', KEYS[4] .. ':' .. head, ARGV[1])
end
return 1
