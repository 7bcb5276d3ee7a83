-- log_take.lua: take permits of a rate limiter on Redisson's keys, or only look.
--
-- Include: log.lua
-- KEYS[1]  setting, the name itself: hash of rate, interval in ms, type, keepAliveTime in ms
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients: zset of entries by the time of the grant, ms; an entry ends in how
--          many permits it is about, 4 bytes, lowest first
-- KEYS[4]  KEYS[2] of this client alone, if each has the whole rate
-- KEYS[5]  KEYS[3] of this client alone
-- ARGV[1]  permits to take
-- ARGV[2]  entry for the log, fresh for this request; empty to look only
-- ARGV[3]  rate that this client has seen last, or 0
--
-- Returns  nil    no rate is set
--          array  {1 granted, 0 refused, -1 more than the rate; rate; interval, ms; type; permits left;
--                 µs until the same request would be granted, or 0; µs until all permits are back, or 0}
-- Replay   safe: an entry that is still in the log is not added again. Where it has expired meanwhile, or was forgotten
--          with a change of the rate, the grant is that of the second run: it is used from now on, so it counts from now
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local k, entry = tonumber(ARGV[1]), ARGV[2]

-- logged is the sum of the log.
local function logged()
	local sum, at = 0, 0
	repeat
		local some = redis.call('zrange', log, at, at + 999)
		for i = 1, #some do
			sum = sum + permits(some[i])
		end
		at = at + 1000
	until #some < 1000
	return sum
end

-- expire drops what was granted an interval ago, and returns how many permits come back by it.
local function expire()
	local back = 0
	repeat
		local some = redis.call('zrangebyscore', log, '-inf', string.format('%.0f', now - interval), 'LIMIT', 0, 1000)
		for i = 1, #some do
			back = back + permits(some[i])
		end
		if #some > 0 then
			redis.call('zremrangebyrank', log, 0, #some - 1)
		end
	until #some < 1000
	return back
end

-- due is when the last of the oldest entries with that many permits was granted. As a rule each has at least one.
local function due(missing)
	local at = 0
	while true do
		local n = math.min(missing, 100)
		local some = redis.call('zrange', log, at, at + n - 1, 'WITHSCORES')
		for i = 1, #some, 2 do
			missing = missing - permits(some[i])
			if missing <= 0 then
				return tonumber(some[i + 1])
			end
		end
		if #some == 0 then
			return nil
		end
		at = at + n
	end
end

local function ahead(score)
	return (score + interval) * 1000 - us
end

local before = entry ~= '' and redis.call('zscore', log, entry)
before = before and tonumber(before) > now - interval
if k > rate and not before then
	return {-1, rate, interval, tonumber(kind), 0, 0, 0}
end
local back = expire()
local newest = tonumber(redis.call('zrevrange', log, 0, 0, 'WITHSCORES')[2] or '')
local stored = tonumber(redis.call('get', value) or '')
local left = (stored or 0) + back
-- The log is the truth, and what is stored is there so that it need not be added up each time. It is added up when they
-- are seen to differ: what is stored was evicted; Redisson added without a bound to it; took twice for one entry, which
-- shows when the log is empty; or another client changed the rate.
if not stored or left > rate or not newest or (own and ARGV[3] ~= '0' and ARGV[3] ~= setting[1]) then
	left = rate - logged()
end
local last = left < k and not before and due(k - left)
if last == nil then
	-- All that was granted does not make up for what is missing: permits were lost, as above.
	left = rate - logged()
	last = left < k and due(k - left)
end

local granted, wait = 1, 0
if last then
	granted, wait = 0, ahead(last)
elseif entry ~= '' and not before then
	redis.call('zadd', log, string.format('%.0f', now), entry)
	left, newest = left - k, math.max(now, newest or 0)
end
if (granted == 1 and entry ~= '') or (stored and left ~= stored) then
	redis.call('set', value, string.format('%.0f', left), 'KEEPTTL')
end
if entry ~= '' then
	prolong()
end
return {granted, rate, interval, tonumber(kind), left, wait, newest and ahead(newest) or 0}
