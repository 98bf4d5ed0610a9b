-- Fair lock, release: removes my record, or my place in the queue when I have given up; without an owner (forced)
-- whoever's record it is. Where that leaves the lock free, it becomes the lock of the head of the queue.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the last token (only with
-- fencing).  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>[ <token>]" to the head: it holds
-- the lock until its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there,
-- "<owner> <ms>" to the one behind it: to ask when the head is no longer taken for alive. "<owner> 0" where the head's
-- patience was lost.
-- Returns 1 when I held it, else 0; and where it became somebody else's a list of that and its new owner.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
if not held then
  if owner then
    local left_queue = call('zrem', queue, owner) == 1
    call('zrem', patience, owner)
    if holder or not left_queue then
      return type(holder) == 'table' and holder or 0 -- a table: an error, no lock, but I have left
    end
  elseif not holder or type(holder) == 'table' then
    return holder or 0
  elseif not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  else
    held = true
  end
end
local line = call('zrange', queue, 0, 1)
local time = line[1] and call('time')
local now = time and time[1] * 1000 + math.floor(time[2] / 1000)
local function channel(of) return 'holdfast:wake:' .. (of:match('^(.*):') or of) end
while line[1] do
  local head = line[1]
  local alive_until = call('zscore', patience, head)
  if not alive_until and call('publish', channel(head), head .. ' 0') > 0 then
    break
  end
  local left = tonumber(alive_until or 0) - now
  if left > 0 then
    local token = KEYS[4] and
      string.format('%.0f', math.max((call('get', KEYS[4]) or 0) + 1, time[1] * 1000000 + time[2]))
    local message = head .. ' held ' .. alive_until .. (token and ' ' .. token or '')
    if call('publish', channel(head), message) > 0 then
      call('set', key, head, 'px', string.format('%.0f', left))
      call('zrem', queue, head)
      call('zrem', patience, head)
      if token then
        call('set', KEYS[4], token, 'px', 86400000)
      end
      return {held and 1 or 0, head}
    end
    if line[2] then
      call('publish', channel(line[2]), line[2] .. string.format(' %.0f', left + 1))
    end
    break
  end
  call('zrem', queue, head) -- who has not asked for too long has died
  call('zrem', patience, head)
  line = call('zrange', queue, 0, 1)
end
if held then
  call('del', key)
end
return held and 1 or 0
