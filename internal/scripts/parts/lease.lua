-- lease.lua: the lease of who loads an entry, at the key on.

-- lease gives the lease to the caller for so many ms: the one that it has, one that nobody has, or also another's. It
-- returns 0, or how much of another's is left, in ms, and whose it is.
local function lease(on, token, ms, anyway)
	local has = redis.call('get', on)
	if has and has ~= token and not anyway then
		return {math.max(redis.call('pttl', on), 1), has}
	end
	redis.call('set', on, token, 'PX', ms)
	return 0
end

-- leased says whether the caller has the lease still.
local function leased(on, token)
	return redis.call('get', on) == token
end

-- ended gives the caller's lease back, and tells those who wait what came of it. An ACL that denies the channel must not
-- turn a write into an error.
local function ended(on, token, publish, channel, what)
	redis.call('del', on)
	redis.pcall(publish, channel, what .. ' ' .. token)
end
