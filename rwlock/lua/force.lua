-- force.lua: take the lock away from its writer, or from all of its readers.
--
-- KEYS[1]  lock hash, the name itself
-- ARGV[1]  read or write: from whom
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4]  what is said there: 0 after readers, 1 after a writer
--
-- Returns  1      somebody held it so; 0  nobody did
--          error  FAMILY and what else the name is: "lock", "group"
-- Replay   unsafe: a second run would take the lock from the next holder
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode and redis.call('exists', KEYS[1]) == 1 then
	return redis.error_reply(redis.call('hlen', KEYS[1]) > 1 and 'FAMILY group' or 'FAMILY lock')
end
if mode ~= ARGV[1] then
	return 0
end
redis.call('del', KEYS[1])
redis.pcall(ARGV[3], ARGV[2], ARGV[4])
return 1
