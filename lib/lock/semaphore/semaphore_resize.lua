-- Semaphore: sets how many permits there are, for everybody from now on, and wakes the waiters. Who holds more stays.
-- KEYS[1] how many permits there are.  KEYS[2] the semaphore's channel.  ARGV[1] the number.
redis.call('set', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], '0')
return 1
