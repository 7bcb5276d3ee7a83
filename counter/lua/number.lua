-- number.lua: a floating point number, as text.

-- value returns the number of a text, nil if it is none or infinite. It gives a number without a point one: the server in the
-- process reads no others beyond 64 bits.
local function value(text)
	if not string.find(text, '^[%d.eE+-]+$') then
		return nil
	end
	if not string.find(text, '.', 1, true) then
		text = string.find(text, '[eE]') and string.gsub(text, '[eE]', '.0e', 1) or text .. '.0'
	end
	local n = tonumber(text)
	return n and n - n == 0 and n or nil
end

-- number returns the number at key, 0 where there is none, and its text; or nil and an error.
local function number(key)
	local text = redis.call('get', key)
	if not text then
		return 0, '0'
	end
	local n = value(text)
	if not n then
		return nil, redis.error_reply('ERR value is not a valid float')
	end
	return n, text
end
