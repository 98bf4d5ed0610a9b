-- Redisson 3.13.6, fair lock, acquire of one who does not wait. Mind the order: the others have wait, now.
-- KEYS as in redisson_fair_acquire.  ARGV[1] lease in ms.  ARGV[2] owner.  ARGV[3] now.  ARGV[4] wait in ms.
-- Returns nil when granted, else 1.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  if tonumber(redis.call('zscore', KEYS[3], head)) > tonumber(ARGV[3]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end
if
  redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2])
then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[4]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return 1
