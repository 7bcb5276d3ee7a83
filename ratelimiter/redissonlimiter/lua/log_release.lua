-- log_release.lua: give permits of a rate limiter on Redisson's keys back.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients
-- KEYS[4]  KEYS[2] of this client alone
-- KEYS[5]  KEYS[3] of this client alone
-- ARGV[1]  permits
--
-- Returns  nil     no rate is set
--          number  how many were given back: at most as many as were granted within the interval
-- Replay   unsafe: a second run gives back again
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
local clock = redis.call('TIME')
local expired = clock[1] * 1000 + math.floor(clock[2] / 1000) - interval

local function permits(of)
	local a, b, c, d = string.byte(of, -4, -1)
	return a + b * 256 + c * 65536 + d * 16777216
end

-- with is an entry with another number of permits.
local function with(of, n)
	local bytes = {}
	for i = 1, 4 do
		bytes[i] = n % 256
		n = math.floor(n / 256)
	end
	return string.sub(of, 1, -5) .. string.char(bytes[1], bytes[2], bytes[3], bytes[4])
end

-- What is given back leaves the log too, the oldest first: it would come back once more when its entry expires.
local over, back, missing = 0, 0, tonumber(ARGV[1])
while missing > 0 do
	local oldest = redis.call('zrange', log, 0, 0, 'WITHSCORES')
	if #oldest == 0 then
		break
	end
	local entry, score = oldest[1], oldest[2]
	local n = permits(entry)
	redis.call('zrem', log, entry)
	if tonumber(score) <= expired then
		over = over + n
	else
		local part = math.min(n, missing)
		missing, back = missing - part, back + part
		if part < n then
			redis.call('zadd', log, score, with(entry, n - part))
		end
	end
end
local stored = tonumber(redis.call('get', value) or '')
local left = (stored or 0) + over + back
-- As in log_take.lua.
if not stored or left > rate or redis.call('exists', log) == 0 then
	left = rate
	local all = redis.call('zrange', log, 0, -1)
	for i = 1, #all do
		left = left - permits(all[i])
	end
end
redis.call('set', value, string.format('%.0f', left), 'KEEPTTL')
local keep = tonumber(setting[4] or '') or 0
if keep > 0 then
	redis.call('pexpire', KEYS[1], setting[4])
else
	keep = redis.call('pttl', KEYS[1])
end
if own and keep < interval then
	keep = interval
end
if keep > 0 then
	redis.call('pexpire', value, string.format('%.0f', keep))
	redis.call('pexpire', log, string.format('%.0f', keep))
end
return back
