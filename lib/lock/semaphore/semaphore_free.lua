-- Semaphore: how many permits are free. Changes nothing.
-- KEYS[1] the holders.  KEYS[2] what they took.  KEYS[3] how many permits there are, if that was set.
-- ARGV[1] how many there are unless it was set.
local call = redis.call
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local used = tonumber(call('hget', KEYS[2], 'used') or 0)
if call('zcard', KEYS[1]) == 0 then used = 0 end
for _, late in ipairs(call('zrangebyscore', KEYS[1], '-inf', string.format('%.0f', now))) do
  used = used - tonumber(call('hget', KEYS[2], late) or 0)
end
return math.max(0, tonumber(call('get', KEYS[3]) or ARGV[1]) - used)
