-- Read-write lock, release: ends my hold, or my place in the queue when I have given up; with a lease a downgrade, by
-- which the writer becomes a reader without a moment between; without an owner (forced) everybody's hold. Whom that
-- leaves room for goes in: the first in the queue that listens and is a writer, or all readers before the first writer.
-- KEYS[1] the lock.  KEYS[2] the readers.  KEYS[3] the queue.  KEYS[4] the writers in it.  KEYS[5] the patience of its
-- members.  KEYS[6] the channel of the version before.  KEYS[7] the last token (only with fencing).  ARGV[1] owner.
-- ARGV[2] for how long the last token is kept, in ms ("": a day).  ARGV[3] lease in ms (a downgrade).
-- The message on "holdfast:wake:<uuid of the process>" is "<owner> held <its patience>[ <token>]": it holds the lock until
-- its patience ends, which is no earlier than the lease that it asked for. Where nobody listens there, it keeps its
-- place, and the next one is served; but a writer does not pass one that insists on its turn, nor does anybody pass a
-- writer that does: then "<owner> <ms>" to the one behind it, to ask when it is no longer taken for alive. "<owner> 0"
-- to who was taken for dead: to ask at once, as the server's clock may have jumped.
-- Returns 1 when I held it, else 0; and where others hold it now a list of that and of each new owner and "read" or
-- "write". A downgrade asked again returns 1, and counts the lease anew, as the first time.
-- Its first write frees memory, so that a server without memory to spare refuses none of them.
local call, owner, kept, lease = redis.call, ARGV[1], tonumber(ARGV[2] or '') or 86400000, tonumber(ARGV[3] or '')
local key, readers, queue, writers, patience = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local holder = redis.pcall('get', key)
local mine = owner and holder == owner .. ' write'
if mine and not lease and call('exists', readers, queue) == 0 then -- the short way: nobody wants it
  call('del', key)
  call('publish', KEYS[6], '')
  return 1
end

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local no_lock = type(holder) == 'table'
local written = not no_lock and holder and holder ~= 'readers'

local function integer(number) return string.format('%.0f', number) end

local function leave_queue(who)
  if call('zrem', queue, who) == 0 then return false end
  call('zrem', patience, who)
  call('zrem', writers, who)
  return true
end

local function tell(whom, what)
  return call('publish', 'holdfast:wake:' .. (whom:match('^(.*):') or whom), whom .. what) > 0
end

-- Nobody but who listens here may take it for a grant: replicas are not told, where somebody may listen still who asked
-- there when it was the primary. That one is told to ask.
local function hand_over(whom, what)
  redis.set_repl(redis.REPL_NONE)
  local heard = tell(whom, what)
  redis.set_repl(redis.REPL_ALL)
  if not heard then tell(whom, ' 0') end
  return heard
end

local function read_until(until_ms, who)
  call('zadd', readers, until_ms, who)
  if call('pttl', readers) < until_ms - now then call('pexpireat', readers, until_ms) end
end

local inside = call('zcard', readers)
if inside > 0 or lease then call('zremrangebyscore', readers, '-inf', integer(now)) end
local held, changed = mine, mine
if not owner then
  if no_lock then return holder end
  if written and not holder:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+ write$')
      and not holder:match('^%x+%-%x+%-4%x+%-%x+%-%x+:%d+$') then
    return redis.error_reply('WRONGTYPE the key holds something that is no read-write lock')
  end
  held = written or call('zcard', readers) > 0
  changed, mine = held, written
  call('del', readers)
elseif lease then
  local before = call('zscore', readers, owner)
  if not mine and not before then return no_lock and holder or 0 end
  local promised = mine and now + call('pttl', key) or 0 -- is never shortened
  read_until(integer(math.max(tonumber(before or 0), now + lease, promised)), owner)
  held, changed = true, true
else
  held = inside > 0 and call('zrem', readers, owner) == 1 or mine
  changed = leave_queue(owner) or held
end
if no_lock then return holder end -- but I have left
held = held and 1 or 0
if not changed or written and not mine then return held end

if inside > 0 or lease then inside = call('zcard', readers) end
local answer, passed, insists = {held}, 0, nil
while #answer < 2000 do -- whom a batch leaves out the next release serves
  local who, ticket = unpack(call('zrange', queue, passed, passed, 'withscores'))
  if not who then break end
  local alive_until, writes = call('zscore', patience, who), call('zscore', writers, who)
  if tonumber(alive_until or 0) <= now then
    leave_queue(who)
    tell(who, ' 0')
  elseif writes and inside > 0 then
    break
  elseif passed == 200 or insists and (writes or insists.writes) then
    local later = insists and ticket % 1 == 0
    tell(who, later and string.format(' %.0f', insists.alive_until - now + 1) or ' 0')
    break
  else
    local message, token = ' held ' .. alive_until, nil
    if KEYS[7] then
      token = integer(math.max((call('get', KEYS[7]) or 0) + 1, time[1] * 1000000 + time[2]))
      message = message .. ' ' .. token
    end
    if hand_over(who, message) then
      leave_queue(who)
      if token then call('set', KEYS[7], token, 'px', kept) end
      answer[#answer + 1] = who
      answer[#answer + 1] = writes and 'write' or 'read'
      if writes then
        call('set', key, who .. ' write', 'pxat', alive_until)
        return answer
      end
      read_until(alive_until, who)
      inside = inside + 1
    else
      passed = passed + 1 -- it may be connecting anew
      if ticket % 1 == 0 and not (insists and insists.alive_until >= tonumber(alive_until)) then
        insists = {alive_until = tonumber(alive_until), writes = writes}
      end
    end
  end
end
if inside == 0 then
  call('del', key)
  call('publish', KEYS[6], '')
elseif lease or answer[2] then
  call('set', key, 'readers', 'px', integer(call('pttl', readers)))
end
return answer[2] and answer or held
