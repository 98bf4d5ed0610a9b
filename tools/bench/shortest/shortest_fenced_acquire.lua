-- The shortest fenced acquire: nobody waits, and asking twice is refused.
-- KEYS[1] the lock.  KEYS[2] the last token.  ARGV[1] owner.  ARGV[2] lease in ms.
if not redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return {0} end
local time = redis.call('time')
local token = time[1] * 1000000 + time[2]
local last = redis.call('set', KEYS[2], string.format('%.0f', token), 'px', 86400000, 'get')
if last and tonumber(last) >= token then
  token = last + 1
  redis.call('set', KEYS[2], string.format('%.0f', token), 'px', 86400000)
end
return {1, token}
