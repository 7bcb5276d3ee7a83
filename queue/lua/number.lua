-- number.lua: a number beside a queue, which Java reads as 32 bits.

-- number is what a key has, nil if there is none; or nil and an error.
local function number(key)
	local text = redis.pcall('get', key)
	if not text then
		return nil
	elseif type(text) == 'table' then
		return nil, redis.error_reply('WRONGTYPE the key ' .. key .. ' holds no number')
	elseif text ~= '0' and not string.match(text, '^%-?[1-9]%d*$') or #text > 11 then -- what INCRBY would refuse
		return nil, redis.error_reply('WRONGTYPE the key ' .. key .. ' holds a string that is no integer')
	end
	return tonumber(text)
end
