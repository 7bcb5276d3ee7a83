-- bucket.lua: how a bucket is kept, and what time does to it; the server's clock.
--
-- A state is "generation t w f" or "generation t w f b": w tokens and f ticks are missing as of server time t, µs; nothing
-- is granted before b, µs. Full and not blocked means absent.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- load is the parts of a state, the last '' where there is no block; nil if the text is none.
local function load(state)
	return string.match(state, '^(%-?%d+) (%d+) (%d+) (%d+) ?(%d*)$')
end

-- later is how many of q ticks that are missing at t still are at a time from t on.
local function later(q, t, at, unit, gain)
	q = q - (at - t) / unit * gain
	return q > 0 and q or 0
end

-- known is t, or where that cannot be, what takes its place; today is the time in the rule's unit. A state of the future:
-- for up to a second the clock may have been set back, and in a block it is meant. Beyond, there was a failover, or a
-- clock was wrong. Who waits may have been told a time that counts from a t up to a second ahead, or from the end of a
-- block; what refilled until then would be granted twice.
local function known(t, today, waiting, block)
	if t <= today + 1000000 or t <= block then
		return t
	end
	return (waiting or block > now) and today + 1000000 or today
end

-- save writes what is missing.
local function save(key, g, t, q, block, gain, per, unit)
	if q == 0 and block <= now then
		return redis.call('DEL', key)
	end
	local w = math.floor(q / per)
	local text = string.format('%s %.0f %.0f %.0f', g, t, w, q - w * per)
	local px = (math.ceil(q / gain) * unit + t - now) / 1000
	if block > now then
		text = text .. string.format(' %.0f', block)
		if px < (block - now) / 1000 then
			px = (block - now) / 1000
		end
	end
	px = math.ceil(px) + 1
	redis.call('SET', key, text, 'PX', string.format('%.0f', px < 100000000000000 and px or 100000000000000))
end
