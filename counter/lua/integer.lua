-- integer.lua: an integer of 64 bits, as text. Lua's numbers are doubles, which cannot tell those above 2^53 apart.

-- integer returns the number at key as text, '0' where there is none, and whether there is one; or nil and an error: what
-- INCRBY would refuse is no integer.
local function integer(key)
	local text = redis.call('get', key)
	if not text then
		return '0', false
	end
	local sign, digits = string.match(text, '^(%-?)([1-9]%d*)$')
	local most = sign == '-' and '9223372036854775808' or '9223372036854775807'
	if text ~= '0' and (not digits or #digits > 19 or #digits == 19 and digits > most) then
		return nil, redis.error_reply('ERR value is not an integer or out of range')
	end
	return text, true
end
