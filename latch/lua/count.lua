-- count.lua: how often a latch is still to be counted down.

-- left is that number as it stands there, nil if there is none; or nil and an error.
local function left()
	local text = redis.pcall('get', KEYS[1])
	if not text then
		return nil
	elseif type(text) == 'table' then
		local kind = redis.call('type', KEYS[1])
		return nil, redis.error_reply('WRONGTYPE the key holds a ' .. (kind.ok or kind) .. ', not the count of a latch')
	elseif not string.match(text, '^%-?%d+$') then
		return nil, redis.error_reply('WRONGTYPE the key holds a string that is no integer, not the count of a latch')
	end
	return tonumber(text)
end
