-- Semaphore, renew: lengthens every lease that is still its owner's, and brings none back.
-- KEYS[2i - 1] a semaphore's holders.  KEYS[2i] what they took.  ARGV[1] lease in ms.  ARGV[i + 1] the owner who asks.
-- Returns a list: 1 renewed, 0 not that owner's any more, or the text of an error that concerns this one alone.
local lease = tonumber(ARGV[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
-- The first write needs no memory, so that a server that has none to spare lets the others pass.
for i = 1, #KEYS / 2 do
  local holders, owner = KEYS[2 * i - 1], ARGV[i + 1]
  local until_ms = redis.pcall('zscore', holders, owner)
  if type(until_ms) == 'table' then
    answers[i] = until_ms.err
  elseif until_ms and tonumber(until_ms) > now then
    local longer = math.max(tonumber(until_ms), now + lease)
    redis.call('zremrangebyscore', holders, '-inf', 0)
    redis.call('zadd', holders, string.format('%.0f', longer), owner)
    for _, name in ipairs({holders, KEYS[2 * i]}) do
      if redis.call('pttl', name) < longer - now then
        redis.call('pexpire', name, string.format('%.0f', longer - now))
      end
    end
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
