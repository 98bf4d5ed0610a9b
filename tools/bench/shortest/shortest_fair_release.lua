-- The shortest fair release: compare, and hand over to the first who waits, or delete.
-- KEYS[1] the lock.  KEYS[2] the queue.  ARGV[1] owner.
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local first = redis.call('zpopmin', KEYS[2])[1]
if not first then return redis.call('del', KEYS[1]) end
redis.call('set', KEYS[1], first, 'keepttl')
return redis.call('publish', first, 'yours')
