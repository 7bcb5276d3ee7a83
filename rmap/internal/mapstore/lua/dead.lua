-- dead.lua: changes that a store has not taken. Their stream is at on, and at last is which of them is the last of an entry,
-- as long as the store has nothing newer.

-- bury keeps a change aside that had that id in the queue.
local function bury(on, last, fields, id, why)
	redis.call('hset', last, fields[2], redis.call('xadd', on, '*', 'id', id, 'why', why, unpack(fields)))
end

-- raise drops some of them, as XRANGE has them. Each key is touched before it is emptied, and not behind that: on a slot
-- that moves it would be elsewhere then.
local function raise(on, last, some)
	local ids, keys = {}, {}
	for i, one in ipairs(some) do
		ids[i] = one[1]
		if redis.call('hget', last, one[2][6]) == one[1] then
			keys[#keys + 1] = one[2][6]
		end
	end
	if #keys > 0 then
		redis.call('hdel', last, unpack(keys))
	end
	if #ids > 0 then
		redis.call('xdel', on, unpack(ids))
		if redis.call('xlen', on) == 0 then
			redis.call('del', on)
		end
	end
end

-- bound drops the oldest ones, so that as many are left as may be. Where there are very many more, it drops some.
local function bound(on, last, most)
	local over, from, room, some = redis.call('xlen', on) - most, '-', 1048576, {}
	while #some < math.min(over, 500) and room > 0 do
		local one = redis.call('xrange', on, from, '+', 'COUNT', 1)[1]
		some[#some + 1], from, room = one, '(' .. one[1], room - #one[2][6] - #one[2][8]
	end
	raise(on, last, some)
end

-- newer says whether the store has, or will have, something newer of the entry of a dead change than that, or the map has:
-- there values begin behind so many bytes.
local function newer(map, queued, last, id, key, to, skip)
	if redis.call('hget', last, key) ~= id or redis.call('hexists', queued, key) == 1 then
		return true
	end
	local size = redis.call('hstrlen', map, key)
	if to ~= '' and size > 0 and size ~= skip + #to - 1 then
		return true
	end
	local there = redis.call('hget', map, key)
	return there and '=' .. string.sub(there, skip + 1) ~= to
end
