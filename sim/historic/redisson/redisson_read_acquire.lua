-- Redisson 3.13.6, read-write lock, acquire of the read side.
-- KEYS[1] the lock: a hash { mode, owner: reads, owner:write: writes }.  KEYS[2] the owner's timeouts: a
-- string KEYS[2]:<n> for its n-th hold.  ARGV[1] lease in ms.  ARGV[2] owner.  ARGV[3] the owner as a writer.
-- Returns nil when granted, else the PTTL.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
  local nth = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':' .. nth, 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
  return nil
end
return redis.call('pttl', KEYS[1])
