-- Reentrant lock, adopt: a hold that its owner has given out of its hands gets another owner, and a lease from now.
-- KEYS[1] the lock: a string, its owner.  ARGV[1] the owner that gave it up.  ARGV[2] the one that takes it up.  ARGV[3]
-- lease in ms.
-- Returns 1 when it is ARGV[2]'s now, also when it was already (a repeated request); else 0, and nothing is changed.
-- Its first write needs no memory, so that a server without memory to spare does not refuse it.
local holder = redis.call('get', KEYS[1])
if holder ~= ARGV[1] and holder ~= ARGV[2] then
  return 0
end
local lease = math.max(tonumber(ARGV[3]), redis.call('pttl', KEYS[1])) -- never shorten what was promised before
redis.call('pexpire', KEYS[1], string.format('%.0f', lease))
redis.call('set', KEYS[1], ARGV[2], 'keepttl')
return 1
