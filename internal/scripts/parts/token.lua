-- token.lua: the counter of the fencing tokens of a lock.

-- known is the number at key, 0 if there is none; or nil, and what is there
-- instead.
local function known(key)
	local text = redis.pcall('get', key)
	if type(text) == 'table' then
		return nil, text.err .. ' (' .. key .. ')'
	end
	local number = tonumber(text or 0)
	-- Beyond 2^53 there are no whole numbers here that can be told apart.
	if not number or number ~= math.floor(number) or math.abs(number) > 9e15 then
		return nil, 'ERR ' .. key .. ' is no counter of fencing tokens'
	end
	return number
end

-- raise makes the number at key n higher than it was, than the server's time in µs
-- and than the highest number that the client has seen: a counter that was lost goes
-- on above all that it gave, unless the clock is behind and the client is new to the
-- lock. It returns the last of the n numbers.
local function raise(key, was, n, seen)
	local time = redis.call('time')
	local last = math.max(was, time[1] * 1000000 + time[2] - 1, tonumber(seen) or 0) + n
	redis.call('set', key, string.format('%.0f', last))
	return last
end
