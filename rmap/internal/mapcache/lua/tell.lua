-- tell.lua: events, in Redisson's bytes: for each part its length, eight bytes little-endian, and itself. The third
-- argument of all scripts that include it is publish or spublish.
local prefix = string.len('redisson__timeout__set') + 1

local function size(n)
	return string.char(n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, math.floor(n / 16777216), 0, 0, 0, 0)
end

-- tell publishes what has happened to an entry, and returns how many heard it. Length and bytes of a value stand in the
-- hash as they do in an event. An ACL that denies the channel must not turn a write into an error.
local function tell(event, key, packed, old)
	local parts = size(#key) .. key .. string.sub(packed, 9) .. (old and string.sub(old, 9) or '')
	local heard = redis.pcall(ARGV[3], 'redisson_map_cache_' .. event .. string.sub(KEYS[2], prefix), parts)
	return type(heard) == 'number' and heard or 0
end
