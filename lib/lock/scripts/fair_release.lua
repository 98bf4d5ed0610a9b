-- Fair lock, release: removes my record, or my place in the queue when I have given up, and calls whose turn it is.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> <in how many ms it is to ask>": the head of the
-- queue at once; and where nobody listens there, the one behind it when the head is no longer taken for alive.
-- Returns 1 when I held it, else 0.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
local left_queue
if held then
  call('del', key)
else
  left_queue = call('zrem', queue, owner) == 1
  call('zrem', patience, owner)
  if type(holder) == 'table' then
    return holder -- an error: no lock, but I have left
  end
end
if held or (left_queue and not holder) then
  local in_ms = 0
  for _, next in ipairs(call('zrange', queue, 0, 1)) do
    local message = next .. ' ' .. string.format('%.0f', in_ms)
    if call('publish', 'holdfast:wake:' .. (next:match('^(.*):') or next), message) > 0 then
      break
    end
    local time = call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    in_ms = math.max(0, tonumber(call('zscore', patience, next) or 0) - now) + 1
  end
end
return held and 1 or 0
