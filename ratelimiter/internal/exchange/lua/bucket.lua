-- bucket.lua: the server's clock, what time does to a bucket, and how that is written.
--
-- Include: state.lua
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

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

-- save writes what is missing, and returns the state.
local function save(key, g, t, q, block, gain, per, unit)
	if q == 0 and block <= now then
		return redis.call('DEL', key)
	end
	local f = q % per
	local px = ((q / gain + 1) * unit + t - now) / 1000
	local state
	if block <= now then
		state = struct.pack('>i7i7i7i7', g, t, (q - f) / per, f)
	else
		state = struct.pack('>i7i7i7i7i7', g, t, (q - f) / per, f, block)
		if px < (block - now) / 1000 then
			px = (block - now) / 1000
		end
	end
	px = px - px % 1 + 2
	redis.call('SET', key, state, 'PX', px < 100000000000000 and px or 100000000000000)
	return state
end
