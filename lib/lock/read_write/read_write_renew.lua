-- Read-write lock, renew: lengthens every lease that is still its owner's, and brings none back.
-- KEYS[2i - 1] a lock.  KEYS[2i] its readers.  ARGV[1] lease in ms.  ARGV[i + 1] the owner who asks for it.
-- Returns a list: 1 renewed, 0 not that owner's any more, or the text of an error that concerns this lock alone.
local lease = tonumber(ARGV[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
-- The first write needs no memory, so that a server that has none to spare lets the others pass.
for i = 1, #KEYS / 2 do
  local key, readers, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i + 1]
  local holder = redis.pcall('get', key)
  local until_ms = redis.pcall('zscore', readers, owner)
  if type(holder) == 'table' then
    answers[i] = holder.err
  elseif type(until_ms) == 'table' then
    answers[i] = until_ms.err
  elseif holder == owner .. ' write' then
    if redis.call('pttl', key) < lease then redis.call('pexpire', key, ARGV[1]) end
    answers[i] = 1
  elseif until_ms and tonumber(until_ms) > now then
    local longer = math.max(tonumber(until_ms), now + lease)
    redis.call('zremrangebyscore', readers, '-inf', 0)
    redis.call('zadd', readers, string.format('%.0f', longer), owner)
    if redis.call('pttl', readers) < longer - now then
      redis.call('pexpire', readers, string.format('%.0f', longer - now))
    end
    if not holder or holder == 'readers' then
      redis.call('set', key, 'readers', 'px', string.format('%.0f', redis.call('pttl', readers)))
    end
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
