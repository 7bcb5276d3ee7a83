-- options.lua: what holds for the whole cache. What nobody understands there is as if it were not there.
local most, mode, told, heaviest, weight =
	unpack(redis.call('hmget', KEYS[5], 'max-size', 'mode', 'has-listeners', 'rueidisson-max-bytes', 'rueidisson-bytes'))

-- bound is how much there may be, of what a field says; 0 is any.
local function bound(text)
	local n = math.floor(text and tonumber(text) or 0)
	return n > 0 and n < 2 ^ 53 and n or math.huge
end

most, heaviest, weight = bound(most), bound(heaviest), tonumber(weight or 0) or 0
weight = weight < 2 ^ 53 and weight or 0
local weighed = heaviest < math.huge
local bounded = weighed or most < math.huge
told = told == '1'

-- used notes an access.
local function used(key)
	if not bounded then
		return
	end
	if mode == 'LFU' then
		redis.call('zincrby', KEYS[4], 1, key)
	else
		redis.call('zadd', KEYS[4], ARGV[2], key)
	end
end
