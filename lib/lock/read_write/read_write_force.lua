-- Read-write lock, forced release: ends every hold, of the writer and of all readers. The queue stays.
-- KEYS[1] the writer.  KEYS[2] the readers.  KEYS[6] the lock's channel.
-- Returns 1 when somebody held it, else 0. What is no record of a lock is not removed: an error.
local holder = redis.call('get', KEYS[1])
if holder and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
if not holder and redis.call('zcard', KEYS[2]) == 0 then return 0 end
redis.call('del', KEYS[1], KEYS[2])
redis.call('publish', KEYS[6], '')
return 1
