-- redis++'s RedMutexTx, extend: its own record lives longer; whatever else stands there is no failure.
-- KEYS[1] the lock.  ARGV[1] the id.  ARGV[2] lease in ms.
-- Returns 1 when it was extended, 0 when it was gone before PEXPIRE, 2 when it is not the id's (counts, too).
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 2
