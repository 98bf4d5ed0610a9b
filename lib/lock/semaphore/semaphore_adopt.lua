-- Semaphore, adopt: what its owner has given out of its hands gets another owner, and a lease from now.
-- KEYS[1] the holders.  KEYS[2] what they took.  ARGV[1] the owner that gave it up.  ARGV[2] the one that takes it up.
-- ARGV[3] lease in ms.
-- Returns how many permits are ARGV[2]'s now, also when they were already (a repeated request); 0, and nothing is changed.
-- Its first write frees memory, so that a server without memory to spare does not refuse it.
local call, holders, taken, to = redis.call, KEYS[1], KEYS[2], ARGV[2]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local from = call('zscore', holders, to) and to or ARGV[1]
local until_ms = tonumber(call('zscore', holders, from) or 0)
if until_ms <= now then
  return 0
end
local permits = tonumber(call('hget', taken, from))
local longer = math.max(until_ms, now + tonumber(ARGV[3])) -- never shorten what was promised before
call('zrem', holders, from)
call('hdel', taken, from)
call('zadd', holders, string.format('%.0f', longer), to)
call('hset', taken, to, permits)
for i = 1, 2 do
  if call('pttl', KEYS[i]) < longer - now then
    call('pexpire', KEYS[i], string.format('%.0f', longer - now))
  end
end
return permits
