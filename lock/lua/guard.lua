-- guard.lua: what every guarded write asks first, and does last.

-- less compares two numbers by their digits: they may be too large for Lua.
local function less(a, b)
	if #a ~= #b then
		return #a < #b
	end
	return a < b
end

-- older is the answer to a request that is refused, nil if it may write.
local function older()
	if redis.call('exists', KEYS[3]) == 1 and redis.call('zscore', KEYS[3], ARGV[4]) then
		return {ARGV[2], ARGV[3]}
	end
	local seen = redis.call('hget', KEYS[2], ARGV[1])
	if not seen then
		return nil
	end
	local highest, owner = string.match(seen, '^(%d+) ?(.*)$')
	if not highest then
		return redis.error_reply('ERR ' .. KEYS[2] .. ' has no fencing token for the lock')
	end
	if less(ARGV[2], highest) or ARGV[2] == highest and ARGV[3] ~= owner then
		return {highest, owner}
	end
	return nil
end

-- raise remembers the token that has written.
local function raise()
	redis.call('hset', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
