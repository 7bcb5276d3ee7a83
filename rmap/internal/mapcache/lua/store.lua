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

-- fit evicts what is too much for an entry that was written just now, and that stays. It returns whether the sweeper has
-- to see to the bound: entries that were there before it are in no order yet, or too many are to go.
local function fit(key, ordered)
	local there = redis.call('hlen', KEYS[1])
	if ordered < there - 1 then
		return true
	end
	local over = math.max(there - most, weighed and excess(atOnce, key) or 0)
	if over <= 0 then
		return false
	end
	return there - evict(math.min(over, atOnce), key) > most or weight > heaviest
end

-- outweighs drops an entry that is larger than all may be together, as one that is evicted.
local function outweighs(key, packed)
	dropping({key})
	evicted = evicted + forget({key})
	if told then
		tell('removed', key, packed)
	end
end

-- write writes an entry, which ends and has rested for too long at those times; old is the living one that it replaces.
-- It returns what the bound needs of the sweeper: 2 a visit, 1 one in a while, as what is counted in bytes may be wrong, 0
-- nothing.
--
-- What takes memory comes first, or a full server would let it pass behind what takes none. The value comes behind its
-- times: where one of their keys is of another type, it is not left there without an end.
local function write(key, packed, ends, rests, old)
	changing()
	local ordered = bounded and redis.call('zcard', KEYS[4])
	local was = weighed and weights({key}) or 0
	local rested, ended = timed(KEYS[3], key, rests), timed(KEYS[2], key, ends)
	local new, left = redis.call('hset', KEYS[1], key, packed) == 1, weighed and 1 or 0
	if ended then
		redis.call('zrem', KEYS[2], key)
	end
	if rested then
		redis.call('zrem', KEYS[3], key)
	end
	local heavy = weighed and #key + #packed > heaviest
	if weighed then
		if new and redis.call('hlen', KEYS[1]) == 1 then
			weight = 0 -- somebody has dropped all
		end
		weigh(#key + #packed - was)
	end
	if bounded and not heavy then
		if (new or weight > heaviest) and fit(key, ordered) then
			left = 2
		end
		used(key)
	end
	if told and old then
		tell('updated', key, packed, old)
	elseif told then
		tell('created', key, packed)
	end
	if heavy then
		outweighs(key, packed)
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
