-- Lock in Redisson's layout, release: removes my record and wakes the waiters, both or neither.
-- KEYS[1] the lock.  KEYS[2] its channel.  ARGV[1] owner.
-- Returns 1 when it was mine, 0 when it was not (nothing is changed then).
local call, key = redis.call, KEYS[1]
if call('hexists', key, ARGV[1]) == 0 then
  return 0
end
call('del', key)
call('publish', KEYS[2], '0')
return 1
