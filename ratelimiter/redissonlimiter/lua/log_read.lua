-- log_read.lua: the setting of a rate limiter on Redisson's keys. A script, since commands that only read may be routed
-- to a replica.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
--
-- Returns  nil    there is none
--          array  {rate; interval, ms; type; keep-alive, ms}
-- Replay   reads: it changes nothing
local setting = redis.call('hmget', KEYS[1], 'rate', 'interval', 'type', 'keepAliveTime')
local rate, interval, kind = tonumber(setting[1] or ''), tonumber(setting[2] or ''), setting[3]
if rate and interval and (kind == '0' or kind == '1') then
	-- As in log_take.lua.
	local exact, longest = 9007199254740991, 9007199254740
	return {math.min(rate, exact), math.min(interval, longest), tonumber(kind), math.min(tonumber(setting[4] or '') or 0, longest)}
end
if redis.call('exists', KEYS[1]) == 0 then
	return nil
end
return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not a rate limiter of Redisson')
