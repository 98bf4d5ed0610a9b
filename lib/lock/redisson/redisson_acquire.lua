-- Lock in Redisson's layout, acquire: asks for the wanted state "held by me, once", so that asking twice changes nothing.
-- KEYS[1] the lock: a hash { owner: count }.  ARGV[1] owner.  ARGV[2] lease in ms.
-- Returns {1, lease left} when it is mine now, {0, PTTL of the holder} when it is somebody else's.
local call, key, owner = redis.call, KEYS[1], ARGV[1]
local left = call('pttl', key)
if left == -2 then
  call('hset', key, owner, 1)
elseif call('hexists', key, owner) == 0 then
  if call('hexists', key, 'left') == 1 then
    return redis.error_reply('WRONGTYPE the key holds a latch, which is no lock')
  end
  return {0, left}
end
local lease = tonumber(ARGV[2])
if left <= lease then -- never shorten what was promised before
  call('pexpire', key, ARGV[2])
  left = lease
end
return {1, left}
