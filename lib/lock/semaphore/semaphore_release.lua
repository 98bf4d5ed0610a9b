-- Semaphore, release: gives back what the owner took, or its place in the queue when it has given up. What is free then
-- goes to the first in the queue, and to those behind it, in their order, as far as it is enough.
-- KEYS[1] the holders.  KEYS[2] what they took.  KEYS[3] how many permits there are, if that was set.  KEYS[4] the queue.
-- KEYS[5] the patience of its members.  KEYS[6] what they want.  KEYS[7] the last token (only with fencing).
-- ARGV[1] owner.  ARGV[2] for how long the last token is kept, in ms (a day).
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>[ <token>]": it holds its permits
-- until its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there, it keeps its
-- place, and the next one is served. "<owner> 0": to ask at once, as it was taken for dead, or wants more than there are.
-- Returns 1 when the owner held permits, 0 when it did not, or not any more; where others hold some now, a list of that
-- and of each new holder and its permits.
-- Its first write frees memory, so that a server without memory to spare refuses none of them.
local call, holders, taken, owner = redis.call, KEYS[1], KEYS[2], ARGV[1]
local queue, patience, wants = KEYS[4], KEYS[5], KEYS[6]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ms = tonumber(call('zscore', holders, owner) or 0)
local held = until_ms > now and 1 or 0

local function integer(number) return string.format('%.0f', number) end

local function leave_queue(who)
  call('zrem', patience, who)
  call('hdel', wants, who)
  return call('zrem', queue, who) == 1
end

-- Takes what `who` took off the sum, where anybody else holds some: else there is nothing to keep.
local function end_hold(who)
  call('zrem', holders, who)
  if call('exists', holders) == 0 then
    call('del', taken)
  else
    call('hincrby', taken, 'used', -tonumber(call('hget', taken, who) or 0))
    call('hdel', taken, who)
  end
end

if until_ms ~= 0 then
  end_hold(owner)
elseif not leave_queue(owner) then
  return 0
end
local waiting = call('zrange', queue, 0, 99)
if not waiting[1] then return held end

for _, late in ipairs(call('zrangebyscore', holders, '-inf', integer(now), 'limit', 0, 1000)) do end_hold(late) end
local used = tonumber(call('hget', taken, 'used') or 0)
local limit = call('get', KEYS[3])
local answer = {held}
for _, next in ipairs(waiting) do
  local alive_until = call('zscore', patience, next) or '0'
  local wanted, its_limit = string.match(call('hget', wants, next) or '', '^(%d+) (%d+)$')
  wanted, its_limit = tonumber(wanted), tonumber(limit or its_limit or 0)
  local channel = 'holdfast:wake:' .. (next:match('^(.*):') or next)
  if not wanted or wanted > its_limit or tonumber(alive_until) <= now then
    leave_queue(next)
    call('publish', channel, next .. ' 0')
  elseif used + wanted > its_limit then
    break
  else
    local message, token = next .. ' held ' .. alive_until, nil
    if KEYS[7] then
      token = integer(math.max((call('get', KEYS[7]) or 0) + 1, time[1] * 1000000 + time[2]))
      message = message .. ' ' .. token
    end
    -- Nobody but who listens here may take it for a grant: replicas are not told, where somebody may listen still who
    -- asked there when it was the primary. That one is told to ask.
    redis.set_repl(redis.REPL_NONE)
    local heard = call('publish', channel, message) > 0
    redis.set_repl(redis.REPL_ALL)
    if not heard then
      call('publish', channel, next .. ' 0')
    else
      leave_queue(next)
      call('zadd', holders, alive_until, next)
      call('hset', taken, next, wanted)
      used = call('hincrby', taken, 'used', wanted)
      for i = 1, 2 do
        if call('pttl', KEYS[i]) < alive_until - now then call('pexpireat', KEYS[i], alive_until) end
      end
      if token then call('set', KEYS[7], token, 'px', ARGV[2] or 86400000) end
      answer[#answer + 1] = next
      answer[#answer + 1] = wanted
    end
  end
end
return answer[2] and answer or held
