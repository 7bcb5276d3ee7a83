-- force.lua: take the lock away from whoever holds it.
--
-- KEYS[1]  lock hash, the name itself
-- ARGV[1]  channel of releases
-- ARGV[2]  publish or spublish
--
-- Returns  1  somebody held it; 0  nobody did; or an error: FAMILY and what else
--          the name is, "rwlock" or "group"
-- Replay   unsafe: a second run would take the lock from the next holder
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
if redis.call('hexists', KEYS[1], 'mode') == 1 then -- or WRONGTYPE: rather than the loss of somebody's data
	return redis.error_reply('FAMILY rwlock')
elseif redis.call('hlen', KEYS[1]) > 1 then
	return redis.error_reply('FAMILY group')
end
redis.call('del', KEYS[1])
redis.pcall(ARGV[2], ARGV[1], '0')
return 1
