-- Count-down latch: sets the count, unless a count is running.
-- KEYS[1] the latch: a hash { left, by }.  KEYS[2] who has counted down: a set of ids.  KEYS[3] its channel.
-- ARGV[1] id of this request.  ARGV[2] the count.  ARGV[3] lifetime in ms.
-- Returns 1 when it was set (by this request), 0 when a count is running.
local call, latch = redis.call, KEYS[1]
if call('hget', latch, 'by') == ARGV[1] then return 1 end
if tonumber(call('hget', latch, 'left') or 0) > 0 then return 0 end
call('del', latch, KEYS[2])
call('hset', latch, 'left', ARGV[2], 'by', ARGV[1])
call('pexpire', latch, ARGV[3])
call('publish', KEYS[3], ARGV[2])
return 1
