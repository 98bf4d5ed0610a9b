-- Redisson 3.13.6, fair lock, acquire of one who waits.
-- KEYS[1] the lock: a hash { owner: count }.  KEYS[2] queue: a list of owners.  KEYS[3] zset owner -> when it
-- may be dropped, in ms of the clients' clocks.
-- ARGV[1] lease in ms.  ARGV[2] owner.  ARGV[3] how long a waiter may wait, in ms.  ARGV[4] now.
-- Returns nil when granted, else how long to wait in ms; the caller is in the queue then.
while true do -- those at the head whose time is over
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
if
  redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2])
then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiter)
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
local mine = redis.call('zscore', KEYS[3], ARGV[2])
if mine ~= false then
  return mine - tonumber(ARGV[3]) - tonumber(ARGV[4])
end
local last = redis.call('lindex', KEYS[2], -1)
local left
if last ~= false and last ~= ARGV[2] then
  left = tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[4])
else
  left = redis.call('pttl', KEYS[1])
end
local give_up = left + tonumber(ARGV[3]) + tonumber(ARGV[4])
if redis.call('zadd', KEYS[3], give_up, ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
