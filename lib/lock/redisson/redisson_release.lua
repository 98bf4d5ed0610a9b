-- Lock in Redisson's layout, release: removes my record, or my place in the queue when I have given up; without an owner
-- (forced) whoever's record it is. Where that leaves the lock free, it becomes the lock of the first in the queue that
-- listens; else, and each time that it was ours eight times in a row while clients of Redisson wait, it is left free and
-- they are told.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] how often in a row it was ours.
-- KEYS[5] Redisson's channel.  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>" to the first: it holds the lock until
-- its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there, it keeps its
-- place, and the next one is served. "<owner> <ms>" is to ask then: who was taken for dead, who comes after Redisson's
-- clients, or who is the first now behind one of them. On Redisson's channel: "0", as RLock says it.
-- Returns 1 when I held it, else 0; and where it became somebody else's a list of that and its new owner.
-- Its first write frees memory, so that a server without memory to spare refuses none of them.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
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

local held = 1
local mine = owner and redis.pcall('hexists', key, owner)
if not owner then
  if call('hlen', key) == 0 then return 0 end
  if call('hexists', key, 'left') == 1 then
    return redis.error_reply('WRONGTYPE the key holds a latch, which is no lock')
  end
elseif mine ~= 1 then
  local left_queue = call('zrem', queue, owner) == 1
  call('zrem', patience, owner)
  if type(mine) == 'table' then return mine end -- an error, no lock, but I have left
  if not left_queue then return 0 end
  if call('exists', key) == 1 then -- maybe it was I who listened to the holder
    local first = call('zrange', queue, 0, 0)[1]
    if first then tell(first, ' 0') end
    return 0
  end
  held = 0
end
call('del', key)
local in_a_row = tonumber(call('get', KEYS[4]) or 0) or 0
local passed = 0 -- who does not listen keeps its place
while passed < 200 do
  local first = call('zrange', queue, passed, passed)[1]
  if not first then break end
  local time, alive_until = call('time'), call('zscore', patience, first)
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if alive_until and tonumber(alive_until) > now then
    if in_a_row == 8 and call('publish', KEYS[5], '0') > 0 then
      call('set', KEYS[4], 'left', 'px', 200)
      tell(first, ' 201')
      return held
    end
    if hand_over(first, ' held ' .. alive_until) then
      call('zrem', queue, first)
      call('zrem', patience, first)
      call('hset', key, first, 1)
      call('pexpireat', key, alive_until)
      call('set', KEYS[4], in_a_row % 8 + 1, 'pxat', alive_until)
      return {held, first}
    end
    passed = passed + 1
  else -- a waiter that has stopped asking is taken for dead; if it is alive and listens, it comes in again at the end
    call('zrem', queue, first)
    call('zrem', patience, first)
    tell(first, ' 0')
  end
end
if call('publish', KEYS[5], '0') > 0 then -- somebody of ours may be the faster one, again and again
  if in_a_row == 8 then
    call('set', KEYS[4], 'left', 'px', 200)
  else
    call('set', KEYS[4], in_a_row + 1, 'px', 60000)
  end
end
return held
