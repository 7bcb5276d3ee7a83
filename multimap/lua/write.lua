-- write.lua: what changes a key of a multimap. Nothing is touched that was deleted before, since a script that does so
-- ends in its middle while the slot moves.
--
-- Runs     rpush sadd

-- add adds the values that are in ARGV from there on, and returns how many.
local function add(kind, values, from)
	local n = 0
	for i = from, #ARGV, 5000 do
		local some = redis.call(kind == 'list' and 'rpush' or 'sadd', values, unpack(ARGV, i, math.min(i + 4999, #ARGV)))
		n = n + some
	end
	return kind == 'list' and #ARGV - from + 1 or n
end

-- only adds them in place of those that are there, and returns how many there are.
local function only(kind, values, from, there)
	local n = add(kind, values, from)
	if #there == 0 then
		return n
	elseif kind == 'list' then
		redis.call('ltrim', values, -n, -1)
		return n
	end
	local new = {}
	for i = from, #ARGV do
		new[ARGV[i]] = true
	end
	local old = {}
	for _, one in ipairs(there) do
		if not new[one] then
			old[#old + 1] = one
		end
	end
	for i = 1, #old, 5000 do
		redis.call('srem', values, unpack(old, i, math.min(i + 4999, #old)))
	end
	return redis.call('scard', values)
end

-- begin makes a key one that is there, as long as the whole multimap. What was left of an earlier one is over.
local function begin(field, id, values)
	redis.call('hset', KEYS[1], field, id)
	redis.call('zrem', KEYS[2], field)
	local left = redis.call('pttl', KEYS[1])
	if left > 0 then
		redis.call('pexpire', values, left)
	else
		redis.call('persist', values)
	end
end

-- drop makes keys ones that are not there.
local function drop(fields, values)
	if #fields > 0 then
		redis.call('zrem', KEYS[2], unpack(fields))
		redis.call('unlink', unpack(values))
		redis.call('hdel', KEYS[1], unpack(fields))
	end
end

-- pack is several texts as one, a thousand at a time, since one of the Luas takes no more.
local function pack(texts)
	local packed, part = {}, {}
	for i, text in ipairs(texts) do
		part[#part + 1] = #text .. ':' .. text
		if #part == 1000 or i == #texts then
			packed[#packed + 1], part = table.concat(part), {}
		end
	end
	return table.concat(packed)
end
