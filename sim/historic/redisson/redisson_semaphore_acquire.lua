-- Redisson 3.13.6, semaphore, acquire.
-- KEYS[1] the free permits.  ARGV[1] how many are wanted.  Returns 1 when taken, else 0.
local free = redis.call('get', KEYS[1])
if free == false or tonumber(free) < tonumber(ARGV[1]) then
  return 0
end
redis.call('decrby', KEYS[1], ARGV[1])
return 1
