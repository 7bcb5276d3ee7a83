-- options.lua: what holds for the whole cache. What nobody understands there is as if it were not there.
local most, mode, told = unpack(redis.call('hmget', KEYS[5], 'max-size', 'mode', 'has-listeners'))
most = math.floor(most and tonumber(most) or 0)
local bounded = most > 0 and most < 2 ^ 53
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
