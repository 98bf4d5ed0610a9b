-- Reentrant lock, acquire with a fencing token: as reentrant_acquire, and the first grant draws a token.
-- KEYS[1] the lock: a hash { owner: count }.  KEYS[2] its last token.  ARGV[1] owner.  ARGV[2] lease in ms.
-- Returns {1, lease left, token} when it is mine now, {0, PTTL of the holder} when it is somebody else's.
local call, key, owner = redis.call, KEYS[1], ARGV[1]
local left = call('pttl', key)
if left ~= -2 and call('hexists', key, owner) == 0 then
  return {0, left}
end
local token = tonumber(call('get', KEYS[2]) or 0)
if left == -2 or token == 0 then -- 0: mine already, but the counter was lost since
  -- The server's time keeps tokens rising when a failover or a restart has lost the last one.
  local time = call('time')
  token = math.max(token + 1, time[1] * 1000000 + time[2])
  call('set', KEYS[2], string.format('%.0f', token), 'px', 86400000)
end
if left == -2 then
  call('hset', key, owner, 1)
end
local lease = tonumber(ARGV[2])
if left <= lease then -- never shorten what was promised before
  call('pexpire', key, ARGV[2])
  left = lease
end
return {1, left, token}
