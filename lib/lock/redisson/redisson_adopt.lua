-- Lock in Redisson's layout, adopt: a hold that its owner has given out of its hands gets another owner, and a lease from
-- now.
-- KEYS[1] the lock: a hash { owner: count }.  ARGV[1] the owner that gave it up.  ARGV[2] the one that takes it up.
-- ARGV[3] lease in ms.
-- Returns 1 when it is ARGV[2]'s now, also when it was already (a repeated request); else 0, and nothing is changed.
-- Its first write needs no memory, so that a server without memory to spare does not refuse it.
local call, key = redis.call, KEYS[1]
if call('hexists', key, ARGV[2]) == 0 and call('hexists', key, ARGV[1]) == 0 then
  return 0
end
local lease = math.max(tonumber(ARGV[3]), call('pttl', key)) -- never shorten what was promised before
call('pexpire', key, string.format('%.0f', lease))
call('hset', key, ARGV[2], 1)
call('hdel', key, ARGV[1])
return 1
