-- opened.lua: when a latch opened last.

-- opened is that time, in µs of the server's clock, 0 if nobody remembers. What is no time, which somebody else wrote, is
-- none: it must not keep those waiting who wait.
local function opened()
	local text = redis.pcall('get', KEYS[3])
	return type(text) == 'string' and tonumber(text) or 0
end
