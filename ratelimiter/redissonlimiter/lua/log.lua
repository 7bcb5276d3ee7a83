-- log.lua: the setting of a rate limiter on Redisson's keys, and whose log counts. The keys are those of log_take.lua.
local setting = redis.call('hmget', KEYS[1], 'rate', 'interval', 'type', 'keepAliveTime')
local rate, interval, kind = tonumber(setting[1] or ''), tonumber(setting[2] or ''), setting[3]
if not rate or not interval or (kind ~= '0' and kind ~= '1') then
	if redis.call('exists', KEYS[1]) == 0 then
		return nil
	end
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not a rate limiter of Redisson')
end
-- Java stores whatever it is given; beyond 2^53 a number is not exact, nor is a time in µs beyond 285 years.
rate, interval = math.min(rate, 9007199254740991), math.min(interval, 9007199254740)
local own, value, log = kind == '1', KEYS[2], KEYS[3]
if own then
	value, log = KEYS[4], KEYS[5]
end

-- permits is how many an entry of the log is about.
local function permits(of)
	local a, b, c, d = string.byte(of, -4, -1)
	return a + b * 256 + c * 65536 + d * 16777216
end

-- prolong keeps the limiter for its keep-alive from now on.
local function prolong()
	local keep = tonumber(setting[4] or '') or 0
	if keep > 0 then
		redis.call('pexpire', KEYS[1], setting[4])
	else
		keep = redis.call('pttl', KEYS[1])
	end
	-- Nobody would ever delete what a client of its own leaves behind.
	if own and keep < interval then
		keep = interval
	end
	if keep > 0 then
		redis.call('pexpire', value, string.format('%.0f', keep))
		redis.call('pexpire', log, string.format('%.0f', keep))
	end
end
