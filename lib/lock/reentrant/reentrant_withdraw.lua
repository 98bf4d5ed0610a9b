-- Reentrant and fair lock: many waiters that have given up leave the queue, in one request.
-- KEYS as reentrant_release.  ARGV[1] what the names of all of them begin with.  ARGV[2 ...] how each goes on.
-- Returns how those go on that have to be released one by one: whose lock it is by now; and where it is nobody's, the
-- last of them in the queue, whose release hands it on.
local call, queue, prefix = redis.call, KEYS[2], ARGV[1]
local holder = redis.pcall('get', KEYS[1]) -- a table: an error, no lock
local leaving, alone = {}, {}
for i = #ARGV, 2, -1 do
  local owner = prefix .. ARGV[i]
  if owner == holder or (not holder and not alone[1] and call('zscore', queue, owner)) then
    alone[1] = ARGV[i]
  else
    leaving[#leaving + 1] = owner
  end
end
if leaving[1] then
  call('zrem', queue, unpack(leaving))
  call('zrem', KEYS[3], unpack(leaving))
end
return alone
