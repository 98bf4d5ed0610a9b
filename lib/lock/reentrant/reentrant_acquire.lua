-- Reentrant lock, acquire: asks for the wanted state "held by me", so that asking twice changes nothing.
-- KEYS[1] the lock: a string, its owner; or "<owner> called", which nobody holds, see reentrant_release.  KEYS[2] who
-- waits: a sorted set of owners by the time (ms, this server's) when they asked first.  KEYS[3] its last token (only with
-- fencing).
-- ARGV[1] owner.  ARGV[2] lease in ms.  ARGV[3] 1: when refused, I wait to be called (see reentrant_release).
-- Returns {1, lease left[, token]} when it is mine now, {0, PTTL of the holder} when it is somebody else's, {0, PTTL, -1}
-- when nobody holds it, but it is kept for another process that was called.
local call, key, waiting, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local holder = call('get', key)
local called = holder and holder:sub(-7) == ' called' -- nobody holds it
if called then
  -- Kept for me, or for an earlier owner of my process. A process asks for a key with one owner at a time, so that one has
  -- given up, and its leave is still on the way.
  local process, number = holder:match('^(.*):(%d+) called$')
  local my_process, my_number = owner:match('^(.*):(%d+)$')
  if process and process == my_process and tonumber(number) <= tonumber(my_number) then
    holder = false
  end
end
local lease = tonumber(ARGV[2])
if holder and holder ~= owner then
  local left = call('pttl', key)
  if left == -1 and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  end
  if ARGV[3] == '1' then
    local time = call('time')
    call('zadd', waiting, 'nx', time[1] * 1000 + math.floor(time[2] / 1000), owner)
    -- I ask again when the holder's lease is over; a third more for the way.
    local kept = math.floor(math.max(left, lease) * 4 / 3) + 1000
    if call('pttl', waiting) < kept then
      call('pexpire', waiting, string.format('%.0f', kept))
    end
  end
  if called then
    return {0, left, -1}
  end
  return {0, left}
end
if not holder then
  call('set', key, owner, 'px', ARGV[2])
else
  local left = call('pttl', key)
  if left > lease then
    lease = left -- never shorten what was promised before
  else
    call('pexpire', key, ARGV[2])
  end
end
if ARGV[3] == '1' then
  call('zrem', waiting, owner)
end
if not KEYS[3] then
  return {1, lease}
end
local token = tonumber(call('get', KEYS[3]) or 0)
if not holder or token == 0 then -- 0: mine already, but the last token was lost since
  -- The server's time keeps tokens rising when a failover or a restart has lost the last one.
  local time = call('time')
  token = math.max(token + 1, time[1] * 1000000 + time[2])
  call('set', KEYS[3], string.format('%.0f', token), 'px', 86400000)
end
return {1, lease, token}
