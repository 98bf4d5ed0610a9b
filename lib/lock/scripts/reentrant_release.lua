-- Reentrant lock, release: removes my record, or my name from those who wait when I have given up. Where that leaves
-- the lock free, calls the one who has waited longest, through the channel of its process; nobody else is woken.
-- KEYS[1] the lock: a string, its owner.  KEYS[2] who waits: a sorted set of owners.  ARGV[1] owner.
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> <in how many ms it is to ask>".
-- Returns 1 when it was mine, 0 when it was not.
local call, key, waiting, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local holder = redis.pcall('get', key)
local held = holder == owner
if held then
  call('del', key)
else
  call('zrem', waiting, owner)
  if holder then
    return type(holder) == 'table' and holder or 0 -- a table: an error, for it is no lock
  end
end
local first = call('zpopmin', waiting)[1]
while first do
  local channel = 'holdfast:wake:' .. (first:match('^(.*):') or first)
  if call('publish', channel, first .. ' 0') > 0 then
    -- Should that one not be able to ask, the next one does.
    local next = call('zrange', waiting, 0, 0)[1]
    if next then
      call('publish', 'holdfast:wake:' .. (next:match('^(.*):') or next), next .. ' 100')
    end
    break
  end
  first = call('zpopmin', waiting)[1] -- nobody listens there: it has died, or asks again when it listens
end
return held and 1 or 0
