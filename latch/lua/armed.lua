-- armed.lua: when a latch was armed.

-- armed is when this library armed the latch, in µs of the server's clock, 0 if nobody knows, such as where Java did.
local function armed(key)
	local text = redis.pcall('get', key)
	return type(text) == 'string' and tonumber(text) or 0
end
