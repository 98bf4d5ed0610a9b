-- The shortest acquire of a semaphore: one permit for each holder, and nobody waits.
-- KEYS[1] the holders, by the end of their lease (ms, this server's time).  ARGV[1] owner.  ARGV[2] lease in ms.
-- ARGV[3] permits.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', string.format('%.0f', now))
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[3]) then return {0} end
redis.call('zadd', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
return {1}
