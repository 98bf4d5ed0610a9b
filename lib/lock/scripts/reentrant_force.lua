-- Reentrant lock, forced release: removes the record, whoever has it, and calls who has waited longest.
-- KEYS[1] the lock.  KEYS[2] who waits.  The messages are those of reentrant_release.
-- Returns 1 when somebody held it, else 0. What is no record of a lock is not removed: an error.
local call, waiting = redis.call, KEYS[2]
local holder = call('get', KEYS[1])
if not holder then
  return 0
end
if not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
call('del', KEYS[1])
local first = call('zpopmin', waiting)[1]
while first do
  local channel = 'holdfast:wake:' .. (first:match('^(.*):') or first)
  if call('publish', channel, first .. ' 0') > 0 then
    local next = call('zrange', waiting, 0, 0)[1]
    if next then
      call('publish', 'holdfast:wake:' .. (next:match('^(.*):') or next), next .. ' 100')
    end
    break
  end
  first = call('zpopmin', waiting)[1]
end
return 1
