-- Survivor: what stands around a lock's own script, so that a server which is new in its role grants nothing that an
-- earlier primary may have granted (survivor.h).
-- KEYS, ARGV: those of the script, and behind them KEYS[n] the mark, ARGV[n - 1] the constants: " <version> <longest lease,
-- ms> <drift, ppm> <skew, ms> [by-lag] <host:port> ... ", with a blank at both ends, and ARGV[n] "acquire", "renew" or "look".
-- The mark, one value, so that its parts are replicated together: "<replication ID> <end of the quarantine, ms, this
-- server's clock><the constants>".
-- Returns {what the script returned, replication ID, how many replicas have joined}; where the quarantine refuses an
-- acquire, {0, ms until its end} stands for what the script returned (which says more to who waits). A look gets what
-- INFO says of the replicas besides.
-- Errors: FOREIGNREPLICA, OTHERCONSTANTS, EVICTS, TOKENAHEAD, NOREPLICAS.
local purpose = table.remove(ARGV)
local constants = table.remove(ARGV)
local mark = table.remove(KEYS)

local replication = redis.call('info', 'replication')
if not replication:find('role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
if not replication:find('connected_slaves:0', 1, true) then
  for host, port in replication:gmatch('slave%d+:ip=([^,]*),port=(%d+)') do
    local replica = host .. ':' .. port
    if not constants:find(' ' .. replica .. ' ', 1, true) then
      return redis.error_reply('FOREIGNREPLICA ' .. replica .. ' follows this server and is none of the members' .. constants)
    end
  end
end
-- What INFO says of a field. A plain search first: a pattern is tried at every character of a long text.
local function field(info, name, pattern)
  local _, last = info:find(name, 1, true)
  return info:match(pattern, last + 1)
end
if purpose ~= 'look' and constants:find(' by-lag ', 1, true) then
  local members = 0
  for _ in constants:gmatch(':%d+ ') do members = members + 1 end
  local there = tonumber(replication:match('min_slaves_good_slaves:(%d+)'))
  if members > 1 and (not there or there < math.floor(members / 2)) then
    return redis.error_reply('NOREPLICAS ' .. (there and there .. ' replicas have acknowledged anything within min-replicas-max-lag, expected '
      .. math.floor(members / 2) or 'min-replicas-to-write is not set, expected ' .. math.floor(members / 2)))
  end
end
local joins = 0
if constants:find('^ %d+ %d+ %d+ %d+ %S+ %S') then -- a server alone has nobody who could join it
  local stats = redis.call('info', 'stats')
  joins = field(stats, 'sync_full:', '^%d+') + field(stats, 'sync_partial_ok:', '^%d+')
end
local id = field(replication, 'master_replid:', '^%x+')
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local kept_id, ends, kept = (redis.call('get', mark) or ''):match('^(%x+) (%d+)( .*)$')
if kept and kept ~= constants then
  return redis.error_reply('OTHERCONSTANTS this server knows' .. kept .. 'and was asked with' .. constants)
end
ends = tonumber(ends or 0)
if kept_id ~= id or ends > now then
  local longest, drift, skew = constants:match('^ %d+ (%d+) (%d+) (%d+) ')
  local quarantine = math.ceil(longest * (1 + drift / 1000000)) + skew + 5
  if kept_id ~= id then -- new in its role, or without its memory
    local policy = redis.call('info', 'memory'):match('maxmemory_policy:([%w-]+)')
    if policy ~= 'noeviction' then
      return redis.error_reply('EVICTS maxmemory-policy is ' .. tostring(policy) .. ', expected noeviction: it may drop a lock')
    end
    ends = now + quarantine
    redis.call('set', mark, string.format('%s %.0f%s', id, ends, constants))
  elseif ends > now + quarantine then -- its clock was set back
    ends = now + quarantine
    redis.call('set', mark, string.format('%s %.0f%s', id, ends, constants))
  end
end
if purpose == 'acquire' then
  if now < ends then
    return {{0, ends - now}, id, joins}
  end
  local skew = constants:match('^ %d+ %d+ %d+ (%d+) ')
  for _, key in ipairs(KEYS) do
    local last = key:find('^holdfast:token:') and redis.call('get', key)
    if last and tonumber(last) > time[1] * 1000000 + time[2] + skew * 1000 then
      return redis.error_reply('TOKENAHEAD the last token of ' .. key .. ' is ahead of the clock by more than the skew')
    end
  end
end

local function script()
--SCRIPT
end
local answer = script()
if type(answer) == 'table' and answer.err then
  return answer
end
return {answer, id, joins, purpose == 'look' and replication or nil}
