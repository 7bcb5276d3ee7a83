-- store.lua: writing an entry, with everything that follows from it.
--
-- Include: bound.lua

-- atOnce is how many entries one write evicts; what is left is the sweeper's.
local atOnce = 100

-- timed sets a time: at, '' or 0: never, '=': as it is. It reports whether one is to go.
local function timed(side, key, at)
	if at == '' or at == '0' then
		return redis.call('zscore', side, key)
	elseif at ~= '=' then
		redis.call('zadd', side, at, key)
	end
end

-- write writes an entry, which ends and has rested for too long at those times; old is the living one that it replaces.
-- It returns 1 if there is something left to do for the bound: entries that were there before it are in no order yet, or
-- too many are to go.
--
-- What takes memory comes first, or a full server would let it pass behind what takes none. The value comes behind its
-- times: where one of their keys is of another type, it is not left there without an end.
local function write(key, packed, ends, rests, old)
	changing()
	local ordered = bounded and redis.call('zcard', KEYS[4])
	local rested, ended = timed(KEYS[3], key, rests), timed(KEYS[2], key, ends)
	local new, left = redis.call('hset', KEYS[1], key, packed) == 1, 0
	if ended then
		redis.call('zrem', KEYS[2], key)
	end
	if rested then
		redis.call('zrem', KEYS[3], key)
	end
	if new and bounded then
		local there = redis.call('hlen', KEYS[1])
		if ordered < there - 1 then
			left = 1
		elseif there > most then
			left = evict(math.min(there - most, atOnce), key) < there - most and 1 or 0
		end
	end
	used(key)
	if told and old then
		tell('updated', key, packed, old)
	elseif told then
		tell('created', key, packed)
	end
	return left
end

-- replace writes an entry in the place of a living one, which has that idle time, and whose times stay where there are
-- none of its own.
local function replace(key, packed, ends, rests, old, rest)
	changing()
	if rests == '' then
		packed = string.sub(old, 1, 8) .. string.sub(packed, 9)
		rested(key, rest)
	end
	return write(key, packed, ends == '' and '=' or ends, rests == '' and '=' or rests, old)
end

-- put is write, or with = for a time that stays replace.
local function put(key, packed, ends, rests, old, rest)
	if ends ~= '=' and rests ~= '=' then
		return write(key, packed, ends, rests, old)
	end
	ends, rests = ends == '=' and '' or ends, rests == '=' and '' or rests
	if old then
		return replace(key, packed, ends, rests, old, rest)
	end
	return write(key, packed, ends, rests)
end
