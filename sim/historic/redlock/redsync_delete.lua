-- redsync, unlock: deletes the key if it still has the value.
-- KEYS[1] the lock.  ARGV[1] the value.  Returns 1 when deleted, -1 when it was gone, 0 when it is somebody else's.
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  return redis.call('DEL', KEYS[1])
elseif value == false then
  return -1
end
return 0
