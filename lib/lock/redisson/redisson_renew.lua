-- Lock in Redisson's layout, renew: lengthens the lease of every lock that is still held by the owner named for it.
-- KEYS[i] a lock.  ARGV[1] lease in ms.  ARGV[i + 1] the owner who asks for KEYS[i].
-- Returns a list: 1 renewed, 0 not that owner's any more, or the text of an error that concerns this key alone.
local lease = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
  local mine = redis.pcall('hexists', key, ARGV[i + 1])
  if type(mine) == 'table' then
    answers[i] = mine.err
  else
    if mine == 1 and redis.call('pttl', key) < lease then
      redis.call('pexpire', key, ARGV[1])
    end
    answers[i] = mine
  end
end
return answers
