-- Redisson 3.13.6, count-down latch, countDown.
-- KEYS[1] the count.  KEYS[2] the channel.  ARGV[1] the message that opens.
local left = redis.call('decr', KEYS[1])
if left <= 0 then
  redis.call('del', KEYS[1])
end
if left == 0 then
  redis.call('publish', KEYS[2], ARGV[1])
end
return nil
