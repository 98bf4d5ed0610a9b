-- Read-write lock, downgrade: the writer becomes a reader, without a moment between; other readers may come in.
-- KEYS[1] the writer.  KEYS[2] the readers.  KEYS[3] the queue.  KEYS[4] the writers in it.  KEYS[5] the patience of
-- its members.  KEYS[6] the lock's channel.  ARGV[1] owner.  ARGV[2] lease in ms.
-- Returns 1 when I am a reader now, 0 when I did not hold it. Asked again it counts the lease anew, as the first time.
local call, owner = redis.call, ARGV[1]
local lease = tonumber(ARGV[2])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local was_writer = call('get', KEYS[1]) == owner
local until_ms = tonumber(call('zscore', KEYS[2], owner) or 0)
if not was_writer and until_ms <= now then return 0 end
until_ms = math.max(until_ms, now + lease, was_writer and now + call('pttl', KEYS[1]) or 0) -- never shorten what was promised
if was_writer then call('del', KEYS[1]) end -- a write that frees memory: a server that has none to spare lets the others pass
call('zremrangebyscore', KEYS[2], '-inf', 0)
call('zadd', KEYS[2], string.format('%.0f', until_ms), owner)
if call('pttl', KEYS[2]) < until_ms - now then call('pexpire', KEYS[2], string.format('%.0f', until_ms - now)) end
if not was_writer then return 1 end
local head = call('zrange', KEYS[3], 0, 0)[1]
if not head then
  call('publish', KEYS[6], '')
elseif not call('zscore', KEYS[4], head) then
  call('publish', KEYS[6], 'r')
end
return 1
