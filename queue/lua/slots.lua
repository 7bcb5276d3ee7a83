-- slots.lua: how many elements a bounded queue has room for, in KEYS[2], which Java reads as 32 bits.

-- free is how many there are, nil if there is no capacity; or nil and an error.
local function free()
	local text = redis.pcall('get', KEYS[2])
	if not text then
		return nil
	elseif type(text) == 'table' then
		return nil, redis.error_reply('WRONGTYPE the key of the free slots holds no number')
	elseif text ~= '0' and not string.match(text, '^%-?[1-9]%d*$') or #text > 11 then -- what INCRBY would refuse
		return nil, redis.error_reply('WRONGTYPE the key of the free slots holds a string that is no integer')
	end
	return tonumber(text)
end

-- announce tells those who wait that there is room: sharded is '1' on a cluster where Java's put listens on such a
-- channel. Both kinds are told then, since Java's own calls use one or the other.
local function announce(channel, sharded, n)
	-- pcall: an ACL that denies the channel must not turn a release into an error.
	redis.pcall('publish', channel, string.format('%.0f', n))
	if sharded == '1' then
		redis.pcall('spublish', channel, string.format('%.0f', n))
	end
end
