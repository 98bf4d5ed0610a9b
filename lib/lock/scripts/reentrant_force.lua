-- Reentrant lock, forced release: removes the record, whoever has it, and wakes the waiters.
-- KEYS[1] the lock.  KEYS[2] its channel.
-- Returns 1 when somebody held it, else 0. What is no record of a lock is not removed: an error.
local holder = redis.call('get', KEYS[1])
if not holder then
  return 0
end
if not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1
