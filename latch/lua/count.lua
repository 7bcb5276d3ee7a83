-- count.lua: how often a latch is still to be counted down.

-- left is that number as it stands there, nil if there is none; or nil and an error.
local function left()
	local text = redis.pcall('get', KEYS[1])
	if not text then
		return nil
	elseif type(text) == 'table' then
		local kind = redis.call('type', KEYS[1])
		return nil, redis.error_reply('WRONGTYPE the key holds a ' .. (kind.ok or kind) .. ', not the count of a latch')
	end
	local n = tonumber(text)
	-- What the server would not count down from: more than its, or this language's, integers, and 007.
	if not n or math.abs(n) > 9e15 or text ~= string.format('%.0f', n) or text == '-0' then
		return nil, redis.error_reply('WRONGTYPE the key holds a string that is no integer, not the count of a latch')
	end
	return n
end
