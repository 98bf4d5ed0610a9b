-- Semaphore: sets how many permits there are, for everybody from now on, and tells the waiters that may get theirs by
-- that, or never will, to ask. Who holds more stays.
-- KEYS[1] how many permits there are.  KEYS[2] what the holders took.  KEYS[3] the queue.  KEYS[4] what its members want.
-- ARGV[1] the number.
local call, limit = redis.call, tonumber(ARGV[1])
call('persist', KEYS[1]) -- a write that needs no memory: a server that has none to spare lets the others pass
call('set', KEYS[1], ARGV[1])
local used = tonumber(call('hget', KEYS[2], 'used') or 0)
for _, next in ipairs(call('zrange', KEYS[3], 0, 999)) do
  local wanted = tonumber(string.match(call('hget', KEYS[4], next) or '', '^%d+') or 0)
  if wanted <= limit then
    if used + wanted > limit then break end
    used = used + wanted
  end
  call('publish', 'holdfast:wake:' .. (next:match('^(.*):') or next), next .. ' 0')
end
return 1
