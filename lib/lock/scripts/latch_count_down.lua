-- Count-down latch: counts one down, once for each id; at zero it tells those who wait.
-- KEYS[1] the latch.  KEYS[2] who has counted down.  KEYS[3] its channel.  ARGV[1] id of this request.
-- Returns what is left, or -1 when there is no such latch.
local call, latch = redis.call, KEYS[1]
local left = tonumber(call('hget', latch, 'left') or -1)
if left <= 0 then return left end
if call('sadd', KEYS[2], ARGV[1]) == 0 then return left end
call('pexpire', KEYS[2], call('pttl', latch))
left = call('hincrby', latch, 'left', -1)
if left == 0 then call('publish', KEYS[3], '0') end
return left
