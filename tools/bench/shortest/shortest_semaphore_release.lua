-- The shortest release of a semaphore.
-- KEYS[1] the holders.  ARGV[1] owner.
return redis.call('zrem', KEYS[1], ARGV[1])
