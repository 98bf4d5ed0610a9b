-- The shortest acquire of a writer: nobody reads, nobody writes, and nobody waits.
-- KEYS[1] the writer.  KEYS[2] the readers.  ARGV[1] owner.  ARGV[2] lease in ms.
if redis.call('exists', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return {1} end
return {0}
