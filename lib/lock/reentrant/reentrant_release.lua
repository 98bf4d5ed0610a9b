-- Reentrant lock, release: removes my record, or my name from those who wait when I have given up; without an owner
-- (forced) whoever's record it is. Calls the one who has waited longest, through the channel of its process, and keeps
-- the lock for it for 100 ms, so that nobody overtakes it on its way; nobody else is woken.
-- KEYS[1] the lock: a string, its owner; or "<owner> called": kept for that one, which nobody holds.  KEYS[2] who waits:
-- a sorted set of owners.  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> <in how many ms it is to ask>".
-- Returns 1 when it was mine (2: and somebody was called), 0 when it was not.
local call, key, waiting, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
if not held then
  if owner then
    call('zrem', waiting, owner)
    if holder and holder ~= owner .. ' called' then
      return type(holder) == 'table' and holder or 0 -- a table: an error, for it is no lock
    end
  elseif not holder or type(holder) == 'table' or holder:match(' called$') then
    return holder and type(holder) == 'table' and holder or 0
  elseif not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  else
    held = true
  end
end
local first = call('zpopmin', waiting)[1]
if not first then
  call('del', key)
  return held and 1 or 0
end
local function tell(whom, ms)
  return call('publish', 'holdfast:wake:' .. (whom:match('^(.*):') or whom), whom .. ms) > 0
end
while first and not tell(first, ' 0') do
  first = call('zpopmin', waiting)[1] -- nobody listens there: it has died, or asks again when it listens
end
if not first then
  call('del', key)
  return held and 1 or 0
end
call('set', key, first .. ' called', 'px', 100)
local next = call('zrange', waiting, 0, 0)[1]
if next then
  tell(next, ' 101') -- should the first one not be able to ask
end
return held and 2 or 0
