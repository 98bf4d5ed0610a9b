-- Reentrant and fair lock, release: removes my record, or my place in the queue when I have given up; without an owner
-- (forced) whoever's record it is. Where that leaves the lock free, it becomes the lock of the first in the queue that
-- listens.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the last token (only with
-- fencing).  ARGV[1] owner.  ARGV[2] for how long the last token is kept, in ms (a day).
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>[ <token>]" to the first: it holds
-- the lock until its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there,
-- it keeps its place, and the next one is served; unless it insists on its turn: then "<owner> <ms>" to the one behind
-- it, to ask when the first one is no longer taken for alive. "<owner> 0" to who was taken for dead: to ask at once, as
-- the server's clock may have jumped.
-- Returns 1 when I held it, else 0; and where it became somebody else's a list of that and its new owner.
-- Its first write frees memory, so that a server without memory to spare refuses none of them.
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
local popped = call('zpopmin', queue)
if not popped[1] then
  if held then call('del', key) end
  return held and 1 or 0
end

local function tell(whom, what)
  return call('publish', 'holdfast:wake:' .. (whom:match('^(.*):') or whom), whom .. what) > 0
end

-- Nobody but who listens here may take it for a grant: replicas are not told, where somebody may listen still who asked
-- there when it was the primary. That one is told to ask.
local function hand_over(whom, what)
  redis.set_repl(redis.REPL_NONE)
  local heard = tell(whom, what)
  redis.set_repl(redis.REPL_ALL)
  if not heard then tell(whom, ' 0') end
  return heard
end
local deaf, wait = {}, 0 -- the deaf keep their places; the greatest patience among them

local function answer(new_owner)
  if #deaf > 0 then
    call('zadd', queue, unpack(deaf))
    if call('pttl', queue) < wait then
      call('pexpire', queue, string.format('%.0f', wait))
    end
  end
  if new_owner then
    return {held and 1 or 0, new_owner}
  end
  if held then
    call('del', key)
  end
  return held and 1 or 0
end

while popped[1] do
  local first, ticket = popped[1], popped[2]
  local time, alive_until = call('time'), call('zscore', patience, first)
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if first == owner then -- my own place: a SET of mine that came late let me in beside it
    call('zrem', patience, owner)
  elseif alive_until and tonumber(alive_until) > now then
    local message, token = ' held ' .. alive_until, nil
    if KEYS[4] then
      token = string.format('%.0f', math.max((call('get', KEYS[4]) or 0) + 1, time[1] * 1000000 + time[2]))
      message = message .. ' ' .. token
    end
    if hand_over(first, message) then
      call('set', key, first, 'pxat', alive_until)
      call('zrem', patience, first)
      if token then
        call('set', KEYS[4], token, 'px', ARGV[2] or 86400000)
      end
      return answer(first)
    end
    deaf[#deaf + 1] = ticket
    deaf[#deaf + 1] = first -- it may be connecting anew
    wait = math.max(wait, alive_until - now)
    if ticket % 1 == 0 or #deaf >= 200 then
      local behind = call('zrange', queue, 0, 0, 'withscores')
      if behind[1] then
        tell(behind[1], behind[2] % 1 == 0 and string.format(' %.0f', alive_until - now + 1) or ' 0')
      end
      break
    end
  else -- a waiter that has stopped asking is taken for dead; if it is alive and listens, it comes in again at the end
    call('zrem', patience, first)
    tell(first, ' 0')
  end
  popped = call('zpopmin', queue)
end
return answer()
