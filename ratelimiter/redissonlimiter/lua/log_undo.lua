-- log_undo.lua: give back what was granted to a caller who had gone.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients
-- KEYS[4]  KEYS[2] of this client alone
-- KEYS[5]  KEYS[3] of this client alone
-- ARGV[1]  the entry of the grant
-- ARGV[2]  its permits
--
-- Returns  number  1, or 0 if the entry is not there
-- Replay   safe: what was taken out of the log is not given back again
local function undo(value, log)
	if redis.call('zrem', log, ARGV[1]) == 0 then
		return 0
	end
	local left, rate = redis.call('get', value), redis.call('hget', KEYS[1], 'rate')
	if left and rate then
		left = math.min(tonumber(left) + tonumber(ARGV[2]), tonumber(rate), 9007199254740991)
		redis.call('set', value, string.format('%.0f', left), 'KEEPTTL')
	end
	return 1
end
-- The type may have changed since the grant.
return math.max(undo(KEYS[2], KEYS[3]), undo(KEYS[4], KEYS[5]))
