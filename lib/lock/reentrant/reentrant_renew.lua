-- Reentrant lock, renew: lengthens the lease of every lock that is still held by the owner named for it.
-- KEYS[i] a lock: a string, its owner.  ARGV[1] lease in ms.  ARGV[i + 1] the owner who asks for KEYS[i].
-- Returns a list: 1 renewed, 0 not that owner's any more, or the text of an error that concerns this key alone.
local lease = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
  local holder = redis.pcall('get', key)
  if type(holder) == 'table' then
    answers[i] = holder.err
  elseif holder ~= ARGV[i + 1] then
    answers[i] = 0
  else
    if redis.call('pttl', key) < lease then
      redis.call('pexpire', key, ARGV[1])
    end
    answers[i] = 1
  end
end
return answers
