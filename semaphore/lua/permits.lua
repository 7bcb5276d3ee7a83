-- permits.lua: the number of free permits, which Java reads as 32 bits.
local most = 2147483647

-- free is how many there are, nil if they were never set; or nil and an error.
local function free()
	local text = redis.pcall('get', KEYS[1])
	if not text then
		return nil
	elseif type(text) == 'table' then
		local kind = redis.call('type', KEYS[1])
		return nil, redis.error_reply('WRONGTYPE the key holds a ' .. (kind.ok or kind) .. ', not a number of permits')
	elseif text ~= '0' and not string.match(text, '^%-?[1-9]%d*$') or #text > 16 then -- what INCRBY would refuse
		return nil, redis.error_reply('WRONGTYPE the key holds a string that is no integer, not a number of permits')
	end
	return tonumber(text)
end
