-- Read-write lock, downgrade: the writer becomes a reader, without a moment between; other readers may come in.
-- KEYS[1] the writer.  KEYS[2] the readers.  KEYS[3] the queue.  KEYS[4] the writers in it.  KEYS[5] the patience of
-- its members.  KEYS[6] the lock's channel.  ARGV[1] owner.  ARGV[2] lease in ms.
-- Returns 1 when I am a reader now (also when I was already), 0 when I did not hold it.
local call, owner = redis.call, ARGV[1]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if call('hexists', KEYS[1], owner) == 0 then
  return tonumber(call('zscore', KEYS[2], owner) or 0) > now and 1 or 0
end
call('del', KEYS[1])
call('zadd', KEYS[2], string.format('%.0f', now + tonumber(ARGV[2])), owner)
if call('pttl', KEYS[2]) < tonumber(ARGV[2]) then call('pexpire', KEYS[2], ARGV[2]) end
local head = call('zrange', KEYS[3], 0, 0)[1]
if not head then
  call('publish', KEYS[6], '')
elseif not call('zscore', KEYS[4], head) then
  call('publish', KEYS[6], 'r')
end
return 1
