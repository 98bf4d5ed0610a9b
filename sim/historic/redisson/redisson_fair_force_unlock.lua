-- Redisson 3.13.6, fair lock, force unlock.
-- KEYS[1..4] as in redisson_fair_unlock.  ARGV[1] the message.  ARGV[2] now.  Returns 1 when it was held, else 0.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  if tonumber(redis.call('zscore', KEYS[3], head)) > tonumber(ARGV[2]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end
if redis.call('del', KEYS[1]) == 0 then
  return 0
end
local head = redis.call('lindex', KEYS[2], 0)
if head ~= false then
  redis.call('publish', KEYS[4] .. ':' .. head, ARGV[1])
end
return 1
