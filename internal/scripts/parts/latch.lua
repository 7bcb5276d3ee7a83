-- latch.lua: which process of a fleet sweeps an object.

-- early returns by how much a clock is ahead of the server's, ms, if that is more than most. false: it is not, or most is empty.
-- A clock that is behind drops nothing that lives.
local function early(clock, most)
	if most == '' then
		return false
	end
	local now = redis.call('time')
	local ahead = tonumber(clock) - tonumber(now[1]) * 1000 - math.floor(tonumber(now[2]) / 1000)
	return ahead > tonumber(most) and ahead
end

-- denied takes a latch for ms, unless another process has it: then it returns in how long that ends, else false. A key of another type
-- is refused, and nothing has changed. A latch that was left without an end gets one.
local function denied(latch, who, ms)
	redis.call('get', latch)
	-- A server that is full lets a script go on that has begun with a write which takes no memory.
	redis.call('pexpire', latch, ms, 'NX')
	if not redis.call('set', latch, who, 'NX', 'PX', ms) then
		if redis.call('get', latch) ~= who then
			return redis.call('pttl', latch)
		end
		redis.call('pexpire', latch, ms)
	end
	return false
end
