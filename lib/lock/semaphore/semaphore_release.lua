-- Semaphore, release: gives back what the owner took, and wakes the waiters.
-- KEYS[1] the holders.  KEYS[2] what they took.  KEYS[3] the semaphore's channel.  ARGV[1] owner.
-- Returns 1 when the owner held permits, 0 when it did not, or not any more.
local call, owner = redis.call, ARGV[1]
local until_ms = tonumber(call('zscore', KEYS[1], owner) or 0)
if until_ms == 0 then return 0 end
local time = call('time')
call('hincrby', KEYS[2], 'used', -tonumber(call('hget', KEYS[2], owner) or 0))
call('hdel', KEYS[2], owner)
if call('zrem', KEYS[1], owner) == 1 and call('zcard', KEYS[1]) == 0 then call('del', KEYS[2]) end
call('publish', KEYS[3], '0')
return until_ms > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
