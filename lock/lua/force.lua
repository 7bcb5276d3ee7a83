-- force.lua: take the lock away from whoever holds it.
--
-- KEYS[1]  lock hash, the name itself
-- ARGV[1]  channel of releases
-- ARGV[2]  publish or spublish
--
-- Returns  1  somebody held it; 0  nobody did
-- Replay   unsafe: a second run would take the lock from the next holder
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
redis.call('hlen', KEYS[1]) -- WRONGTYPE rather than the loss of somebody's data
redis.call('del', KEYS[1])
redis.pcall(ARGV[2], ARGV[1], '0')
return 1
