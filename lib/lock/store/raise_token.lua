-- Quorum of servers: raises the last token to the greatest that the voters drew, as long as the lock is still mine.
-- KEYS[1] the lock: a string, its owner.  KEYS[2] its last token.  ARGV[1] owner.  ARGV[2] token.  ARGV[3] for how long it is kept, in ms.
-- Returns 1 when it is at least that great now, 0 when the lock is not mine.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
if tonumber(redis.call('get', KEYS[2]) or 0) < tonumber(ARGV[2]) then
  redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
end
return 1
