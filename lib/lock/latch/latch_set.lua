-- Count-down latch: sets the count, unless a count is running.
-- KEYS[1] the latch: a hash { left, by, opened }.  KEYS[2] who has counted down: a set of ids.  KEYS[3] its channel.
-- KEYS[4] who counted down the count before: their late repetitions must not count on this one.
-- ARGV[1] id of this request.  ARGV[2] the count.  ARGV[3] lifetime in ms.
-- Returns 1 when it was set (by this request), 0 when a count is running.
local call, latch = redis.call, KEYS[1]
local known = call('hmget', latch, 'by', 'left')
if known[1] == ARGV[1] then return 1 end
if tonumber(known[2] or 0) > 0 then return 0 end
if not known[2] and call('exists', latch) == 1 then
  return redis.error_reply('WRONGTYPE the key holds something that is no latch')
end
if call('exists', KEYS[2]) == 1 then
  call('rename', KEYS[2], KEYS[4])
  call('pexpire', KEYS[4], ARGV[3])
end
call('del', latch)
call('hset', latch, 'left', ARGV[2], 'by', ARGV[1])
if known[1] then call('hset', latch, 'opened', known[1]) end -- who still waits for that one learns that it came to zero
call('pexpire', latch, ARGV[3])
call('publish', KEYS[3], ARGV[2])
return 1
