-- number.lua: a floating point number, as text.

-- number returns the number at key, 0 where there is none, and its text; or nil and an error.
local function number(key)
	local text = redis.call('get', key)
	if not text then
		return 0, '0'
	end
	local n = string.find(text, '^[%d.eE+-]+$') and tonumber(text)
	if not n or n - n ~= 0 then -- it is infinite
		return nil, redis.error_reply('ERR value is not a valid float')
	end
	return n, text
end
