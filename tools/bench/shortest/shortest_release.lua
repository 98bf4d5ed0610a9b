-- The shortest release of a string: compare and delete.
-- KEYS[1] the lock.  ARGV[1] owner.
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])
