-- Fair lock, release: removes my record, or my place in the queue when I have given up, and tells whose turn it is.
-- KEYS[1] the lock.  KEYS[2] the queue.  KEYS[3] the patience of its members.  KEYS[4] the lock's channel.
-- ARGV[1] owner.
-- The message has three lines: the head of the queue, for how many ms that one is taken for alive, and the next.
-- An empty head: nobody stands in the queue; who waits all the same has lost its place and asks again.
-- Returns 1 when I held it, else 0.
local call, key, queue, patience, owner = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local left_queue = call('zrem', queue, owner)
call('zrem', patience, owner)
local held = call('get', key) == owner and 1 or 0
if held == 1 then
  call('del', key)
end
if held == 1 or (left_queue == 1 and call('exists', key) == 0) then
  local next = call('zrange', queue, 0, 1)
  local alive = 0
  if next[1] then
    local time = call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    alive = math.max(0, tonumber(call('zscore', patience, next[1]) or 0) - now)
  end
  call('publish', KEYS[4], (next[1] or '') .. '\n' .. string.format('%.0f', alive) .. '\n' .. (next[2] or ''))
end
return held
