-- Semaphore: many waiters that have given up leave the queue, in one request.
-- KEYS as semaphore_release.  ARGV[1] what the names of all of them begin with.  ARGV[2 ...] how each goes on.
-- Returns how those go on that have to be released one by one: who holds permits by now, and the last of them in the
-- queue, whose release serves those behind.
local call, queue, prefix = redis.call, KEYS[4], ARGV[1]
local leaving, alone, last = {}, {}, nil
for i = #ARGV, 2, -1 do
  local owner = prefix .. ARGV[i]
  if call('zscore', KEYS[1], owner) then
    alone[#alone + 1] = ARGV[i]
  elseif not last and call('zscore', queue, owner) then
    last = owner
    alone[#alone + 1] = ARGV[i]
  else
    leaving[#leaving + 1] = owner
  end
end
if leaving[1] then
  call('zrem', queue, unpack(leaving))
  call('zrem', KEYS[5], unpack(leaving))
  call('hdel', KEYS[6], unpack(leaving))
end
return alone
