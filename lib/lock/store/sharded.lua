-- What stands before a script that publishes, where it runs in a Redis Cluster: the messages of this library go to sharded
-- channels in the slot of the lock. A plain one goes to every node of the Cluster, and PUBLISH counts who listens here only;
-- SPUBLISH goes to nobody but the replicas of this node, and counts all who can listen.
-- "holdfast:wake:<uuid of the process>" becomes "holdfast:wake:<uuid>{tag}"; a name with a hash tag stays as it is. The tag
-- is that of KEYS[2], a name beside the lock's key. Redis older than 7 has no sharded channels (and no REDIS_VERSION_NUM):
-- there it is a plain channel of that name.
local plain, tag, publish = redis.call, KEYS[2]:match('{.-}'), redis.REDIS_VERSION_NUM and 'spublish' or 'publish'
local function call(command, ...)
  if command ~= 'publish' then return plain(command, ...) end
  local channel, message = ...
  if channel:sub(1, 9) ~= 'holdfast:' then return plain(command, channel, message) end
  return plain(publish, channel:find('{', 1, true) and channel or channel .. tag, message)
end
local redis = setmetatable({call = call}, {__index = redis})

