-- born.lua: when permits were set.

-- born notes that this library has set the permits now, in µs of the server's clock, for as long as they are there.
local function born(ms)
	local t = redis.call('time')
	local text = string.format('%.0f', t[1] * 1000000 + t[2])
	if ms == '0' then
		redis.call('set', KEYS[3], text)
	else
		redis.call('set', KEYS[3], text, 'PX', ms)
	end
end
