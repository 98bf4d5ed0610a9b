-- Semaphore, acquire: takes permits when so many are free. Asking twice changes nothing.
-- KEYS[1] the holders: a sorted set of owners by the end of their lease (ms, this server's time).  KEYS[2] what they
-- took: a hash { owner: permits, used: sum }.  KEYS[3] how many permits there are, if that was set.  KEYS[4] the last
-- token (only with fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] how many permits there are unless it was set.  ARGV[4] how many to take.
-- Returns {1, lease left[, token]} when they are mine now, else {0, ms until the first lease ends}.
local call, holders, taken, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local lease, wanted = tonumber(ARGV[2]), tonumber(ARGV[4])
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function integer(number) return string.format('%.0f', number) end

for _, late in ipairs(call('zrangebyscore', holders, '-inf', integer(now), 'limit', 0, 1000)) do
  call('hincrby', taken, 'used', -tonumber(call('hget', taken, late) or 0))
  call('hdel', taken, late)
  call('zrem', holders, late)
end
-- The holders' key goes when the last of them does, and its time with it; what they took must not outlive them.
local used = tonumber(call('hget', taken, 'used') or 0)
if used ~= 0 and call('exists', holders) == 0 then
  call('del', taken)
  used = 0
end
local until_ms = tonumber(call('zscore', holders, owner) or 0)
local first = until_ms == 0
if first then
  local permits = tonumber(call('get', KEYS[3]) or ARGV[3])
  if wanted > permits then
    return redis.error_reply('TOOMANY ' .. wanted .. ' permits were asked for where there are ' .. permits)
  end
  if used + wanted > permits then
    local next_end = call('zrange', holders, 0, 0, 'withscores')[2]
    return {0, next_end and math.max(0, tonumber(next_end) - now) or lease}
  end
  call('hset', taken, owner, wanted)
  call('hincrby', taken, 'used', wanted)
end
until_ms = math.max(until_ms, now + lease)
call('zadd', holders, integer(until_ms), owner)
for i = 1, 2 do
  if call('pttl', KEYS[i]) < until_ms - now then call('pexpire', KEYS[i], integer(until_ms - now)) end
end
if not KEYS[4] then return {1, until_ms - now} end
local token = tonumber(call('get', KEYS[4]) or 0)
if first or token == 0 then -- 0: mine already, but the last token was lost since
  token = math.max(token + 1, time[1] * 1000000 + time[2])
  call('set', KEYS[4], integer(token), 'px', 86400000)
end
return {1, until_ms - now, token}
