-- log_release.lua: give permits of a rate limiter on Redisson's keys back.
--
-- Include: log.lua
-- KEYS[1]  setting, the name itself; see log_take.lua
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients
-- KEYS[4]  KEYS[2] of this client alone
-- KEYS[5]  KEYS[3] of this client alone
-- ARGV[1]  permits
--
-- Returns  nil     no rate is set
--          number  how many were given back: at most as many as were granted within the interval
-- Replay   once: a second run gives back again
local clock = redis.call('TIME')
local expired = clock[1] * 1000 + math.floor(clock[2] / 1000) - interval

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
prolong()
return back
