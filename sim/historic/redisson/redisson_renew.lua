-- Redisson 3.13.6, renewal of a hash { owner: count }.
-- KEYS[1] the lock.  ARGV[1] lease in ms.  ARGV[2] owner.  Returns 1 when it was the owner's, else 0.
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return 0
end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
