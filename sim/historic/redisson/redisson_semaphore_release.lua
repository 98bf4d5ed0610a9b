-- Redisson 3.13.6, semaphore, release, by anybody.
-- KEYS[1] the free permits.  KEYS[2] the channel.  ARGV[1] how many are given back.
redis.call('publish', KEYS[2], redis.call('incrby', KEYS[1], ARGV[1]))
return nil
