-- Reentrant lock, release: removes my record and wakes the waiters, both or neither.
-- KEYS[1] the lock: a string, its owner.  KEYS[2] its channel.  ARGV[1] owner.
-- Returns 1 when it was mine, 0 when it was not (nothing is changed then).
local call = redis.call
if call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
call('del', KEYS[1])
call('publish', KEYS[2], '0')
return 1
