-- entry.lua: an entry and whether it lives. The keys of all scripts that include it begin with hash, times to live, idle
-- times, accesses and options; their second argument is the caller's clock.
--
-- Include: idle.lua
local now = tonumber(ARGV[2])

local function over(ends)
	return ends and tonumber(ends) <= now
end

-- live is an entry as the hash has it, and its idle time. Of one that has expired it is nil, and what is there still.
local function live(key)
	local packed = redis.call('hget', KEYS[1], key)
	if not packed then
		return nil
	end
	if over(redis.call('zscore', KEYS[2], key)) then
		return nil, packed
	end
	local rest = idle(packed)
	if rest > 0 and over(redis.call('zscore', KEYS[3], key)) then
		return nil, packed
	end
	return packed, rest
end

-- rested puts off the end of an entry's idle time.
local function rested(key, rest)
	if rest > 0 then
		redis.call('zadd', KEYS[3], string.format('%.0f', now + rest), key)
	end
end
