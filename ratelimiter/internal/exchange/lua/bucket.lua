-- bucket.lua: the server's clock, what time does to a bucket, and how that is written; see state.lua for what it is.
--
-- Include: struct.lua
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- later is how many of q ticks that are missing at t still are at a time from t on.
local function later(q, t, at, unit, gain)
	q = q - (at - t) / unit * gain
	return q > 0 and q or 0
end

-- save writes what is missing, and returns the state.
local function save(key, now, g, t, q, block, gain, per, unit)
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
