-- trim.lua: the bounds of the dead.
--
-- Needs    queue.lua, outset.lua
-- Defines  trim

-- trim takes out up to a hundred of the dead that are older than the terms say, or else that are more. Of those that are too
-- many, messages that a handler of the dead has failed and is to have again later go first: they have been seen. The oldest
-- follow.
local function trim()
	local n = redis.call('zcard', dead)
	if n == 0 then
		return
	end
	local old = redis.call('zrangebyscore', dead, '-inf', whole(now - term(3, 2592000000)), 'LIMIT', 0, 100)
	if #old == 0 then
		local over = n - term(2, 10000)
		if over <= 0 then
			return
		end
		over = math.min(over, 100)
		old = redis.call('zrangebyscore', dead, '(' .. whole(now), '+inf', 'LIMIT', 0, over)
		if #old < over then
			local first = redis.call('zrange', dead, 0, over - #old - 1)
			for i = 1, #first do
				old[#old + 1] = first[i]
			end
		end
	end
	redis.call('zrem', dead, unpack(old))
	redis.call('hdel', body, unpack(old))
	redis.call('hdel', failure, unpack(old))
	redis.call('hdel', opt, unpack(old))
	redis.call('hdel', progress, unpack(old))
end
