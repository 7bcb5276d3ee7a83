-- barrier.lua: what arriving, leaving and looking have in common.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function whole(n) return string.format('%.0f', n) end

-- barrier is how many parties it has and its present generation, nil if it is not there; or an error.
local function barrier()
	local got = redis.pcall('hmget', KEYS[1], 'parties', 'gen')
	if got.err then
		local kind = redis.call('type', KEYS[1])
		return nil, nil, redis.error_reply('WRONGTYPE the key holds a ' .. (kind.ok or kind) .. ', not a barrier')
	elseif not (got[1] and got[2]) and redis.call('exists', KEYS[1]) == 1 then
		return nil, nil, redis.error_reply('WRONGTYPE the key holds a hash of something else, not a barrier')
	end
	return tonumber(got[1] or nil), got[2] or nil
end

-- first is how long until the first lease of those who wait ends, -1 if nobody waits.
local function first()
	local score = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
	return score and math.max(0, score - now) or -1
end

-- live lets a key stay for so long at least.
local function live(key, ms)
	if redis.call('pttl', key) < tonumber(ms) then
		redis.call('pexpire', key, whole(ms))
	end
end

-- over ends the present generation, and returns the next one. Those who wait are the caller's to remove.
local function over(gen)
	-- First a write that a full server does not refuse: it lets those behind it pass.
	redis.call('zrem', KEYS[2], '')
	local following = whole(gen + 1)
	redis.call('hset', KEYS[1], 'gen', following)
	redis.call('pexpire', KEYS[1], ARGV[1])
	-- pcall: an ACL that denies the channel must not keep a generation from its end.
	redis.pcall(ARGV[3], ARGV[2], gen)
	return following
end

-- state is 0 if that generation is the present one, 1 if it opened, 2 if it broke: what is not known to have opened did.
local function state(of, gen)
	if of == gen then
		return 0
	end
	return redis.call('zscore', KEYS[3], of) and 1 or 2
end
