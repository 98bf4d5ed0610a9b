-- Redisson 3.13.6, count-down latch, trySetCount: unless a count is running.
-- KEYS[1] the count.  KEYS[2] the channel.  ARGV[1] the message that closes.  ARGV[2] the count.
-- Returns 1 when set, else 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('set', KEYS[1], ARGV[2])
redis.call('publish', KEYS[2], ARGV[1])
return 1
