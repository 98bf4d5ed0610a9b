-- redlock-cpp, ContinueLock: takes away what the call before has set, and sets what is not there.
-- KEYS[1] the lock.  ARGV[1] the id of the call before.  ARGV[2] the new id.  ARGV[3] lease in ms.
-- Returns OK, or nil when somebody else has it.
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
end
return redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3], 'nx')
