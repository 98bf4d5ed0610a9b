-- The shortest fair acquire: nobody goes in before those who wait. How they come to wait, or die, is left out.
-- KEYS[1] the lock.  KEYS[2] the queue.  ARGV[1] owner.  ARGV[2] lease in ms.
if redis.call('exists', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return {1} end
return {0}
