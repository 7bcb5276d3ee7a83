-- log_delete.lua: forget a rate limiter on Redisson's keys.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients
-- KEYS[4]  KEYS[2] of this client alone
-- KEYS[5]  KEYS[3] of this client alone
--
-- Returns  number  1, or 0 if there was none
-- Replay   unsafe: a second run that comes late deletes what was set since
if redis.call('hexists', KEYS[1], 'rate') == 0 and redis.call('exists', KEYS[1]) == 1 then
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not a rate limiter of Redisson')
end
return math.min(1, redis.call('del', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]))
