-- Fair lock, release: removes my record, or my place in the queue when I have given up; without an owner (forced)
-- whoever's record it is. Where that leaves the lock free, it becomes the lock of the head of the queue.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the last token (only with
-- fencing).  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>[ <token>]" to the head: it holds
-- the lock until its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there,
-- "<owner> <ms>" to the one behind it: to ask when the head is no longer taken for alive. "<owner> 0" to who was taken
-- for dead: to ask at once, as the server's clock may have jumped.
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
local function channel(of) return 'holdfast:wake:' .. (of:match('^(.*):') or of) end
local popped = call('zpopmin', queue)
while popped[1] do
  local head, ticket = popped[1], popped[2]
  local time, alive_until = call('time'), call('zscore', patience, head)
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if alive_until and tonumber(alive_until) > now then
    local message, token = head .. ' held ' .. alive_until, nil
    if KEYS[4] then
      token = string.format('%.0f', math.max((call('get', KEYS[4]) or 0) + 1, time[1] * 1000000 + time[2]))
      message = message .. ' ' .. token
    end
    if call('publish', channel(head), message) > 0 then
      call('set', key, head, 'pxat', alive_until)
      call('zrem', patience, head)
      if token then
        call('set', KEYS[4], token, 'px', 86400000)
      end
      return {held and 1 or 0, head}
    end
    local behind = call('zrange', queue, 0, 0)[1]
    if behind then
      call('publish', channel(behind), behind .. string.format(' %.0f', alive_until - now + 1))
    end
    call('zadd', queue, ticket, head) -- it may be connecting anew: it keeps its place
    if call('pttl', queue) == -1 then
      call('pexpire', queue, string.format('%.0f', alive_until - now))
    end
    break
  end
  -- A waiter that has stopped asking is taken for dead. If it is alive and listens, it comes in again at the end.
  call('zrem', patience, head)
  call('publish', channel(head), head .. ' 0')
  popped = call('zpopmin', queue)
end
if held then
  call('del', key)
end
return held and 1 or 0
