-- Count-down latch: counts one down, once for each id; at zero it tells those who wait.
-- KEYS[1] the latch.  KEYS[2] who has counted down.  KEYS[3] its channel.  KEYS[4] who counted down the count before.
-- ARGV[1] id of this request.
-- Returns what is left, or -1 when there is no such latch.
local call, latch = redis.call, KEYS[1]
local left = tonumber(call('hget', latch, 'left') or -1)
if left <= 0 or call('sismember', KEYS[4], ARGV[1]) == 1 or call('sadd', KEYS[2], ARGV[1]) == 0 then return left end
local lives = call('pttl', latch)
if lives > 0 then call('pexpire', KEYS[2], lives) end
left = call('hincrby', latch, 'left', -1)
if left == 0 then call('publish', KEYS[3], '0') end
return left
