-- Read-write lock, adopt: a hold that its owner has given out of its hands gets another owner, and a lease from now.
-- KEYS[1] the lock.  KEYS[2] the readers.  ARGV[1] the owner that gave it up.  ARGV[2] the one that takes it up.  ARGV[3]
-- lease in ms.  ARGV[4] "read" or "write": what is taken up.
-- Returns 1 when it is ARGV[2]'s now, also when it was already (a repeated request); else 0, and nothing is changed.
-- Its first write needs no memory, so that a server without memory to spare does not refuse it.
local call, key, readers, from, to, lease = redis.call, KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
local holder = call('get', key)
if ARGV[4] == 'write' then
  if holder ~= from .. ' write' and holder ~= to .. ' write' then
    return 0
  end
  call('pexpire', key, string.format('%.0f', math.max(lease, call('pttl', key)))) -- never shorten what was promised before
  call('set', key, to .. ' write', 'keepttl')
  return 1
end
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ms = tonumber(call('zscore', readers, to) or call('zscore', readers, from) or 0)
if until_ms <= now then
  return 0
end
local longer = math.max(until_ms, now + lease)
call('zrem', readers, from, to)
call('zadd', readers, string.format('%.0f', longer), to)
if call('pttl', readers) < longer - now then
  call('pexpire', readers, string.format('%.0f', longer - now))
end
if not holder or holder == 'readers' then
  call('set', key, 'readers', 'px', string.format('%.0f', call('pttl', readers)))
end
return 1
