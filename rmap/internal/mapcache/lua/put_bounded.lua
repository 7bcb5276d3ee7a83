-- put_bounded.lua: put_many.lua of one entry where the cache is bounded, but not by bytes, nobody listens, and the request
-- has no id. It has no functions: making them takes the server as long as what they do.
--
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   lease of who loads the entry
-- ARGV[1]   of no use here: 0
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   of no use here
-- ARGV[4]   key
-- ARGV[5]   entry as the hash has it
-- ARGV[6]   when it ends, ms; empty: never
-- ARGV[7]   when it has rested for too long, ms; empty: never
--
-- Returns  array  {what the bound needs, see store.lua; 1, or where somebody listens or bytes count, and nothing was
--                 done, {largest size, mode, whether somebody listens, most bytes}; how many entries it has evicted}
-- Replay   once: a second run overwrites what others wrote in between
local options = redis.call('hmget', KEYS[5], 'max-size', 'mode', 'has-listeners', 'rueidisson-max-bytes')
local most, mode = options[1], options[2]
if options[3] == '1' or options[4] and options[4] ~= '0' then
	return {0, options, 0}
end
most = math.floor(most and tonumber(most) or 0)
local bounded = most > 0 and most < 2 ^ 53
local key, left, evicted = ARGV[4], 0, 0
local more = redis.call('exists', KEYS[3], KEYS[6]) > 0
local ordered = bounded and redis.call('zcard', KEYS[4])

-- What takes memory comes first, or a full server would let it pass behind what takes none; the value behind its end.
local ended, rested
if ARGV[7] ~= '' then
	redis.call('zadd', KEYS[3], ARGV[7], key)
elseif more then
	rested = redis.call('zscore', KEYS[3], key)
end
if ARGV[6] ~= '' then
	redis.call('zadd', KEYS[2], ARGV[6], key)
else
	ended = redis.call('zscore', KEYS[2], key)
end
local new = redis.call('hset', KEYS[1], key, ARGV[5]) == 1
if ended then
	redis.call('zrem', KEYS[2], key)
end
if rested then
	redis.call('zrem', KEYS[3], key)
end
if more then
	redis.call('del', KEYS[6])
end

if new and bounded then
	local over = redis.call('hlen', KEYS[1]) - most
	if ordered < over + most - 1 then
		left = 2
	elseif over > 0 then
		local popped, names = redis.call('zpopmin', KEYS[4], math.min(over, 100)), {}
		for i = 1, #popped, 2 do
			if popped[i] == 'redisson__expiretag' then
				redis.call('zadd', KEYS[4], popped[i + 1], popped[i])
			elseif popped[i] ~= key then
				names[#names + 1] = popped[i]
			end
		end
		if names[1] then
			redis.call('zrem', KEYS[2], unpack(names))
			if more or ARGV[7] ~= '' then
				redis.call('zrem', KEYS[3], unpack(names))
			end
			evicted = redis.call('hdel', KEYS[1], unpack(names))
		end
		left = evicted < over and 2 or 0
	end
end
if bounded and mode == 'LFU' then
	redis.call('zincrby', KEYS[4], 1, key)
elseif bounded then
	redis.call('zadd', KEYS[4], ARGV[2], key)
end
return {left, 1, evicted}
