-- bound.lua: a cache that is larger than it may be loses the entries that were not used for longest, or least.
--
-- What a cache with a bound by bytes weighs stands beside the bound. Each script that changes it says by how much. What
-- others have changed, such as Redisson, a sample of the sweeper shows.
--
-- Include: entry.lua
-- Include: tell.lua
-- Include: options.lua

-- tag is what keeps the side keys of a whole cache with a time to live; it is no entry.
local tag = 'redisson__expiretag'

-- evicted is how many entries this call has dropped.
local evicted = 0

-- A function takes the server time that a cache without such a bound does not pay.
local weights, weigh, excess
if weighed then
	-- weights returns what those entries weigh, each with its key.
	function weights(names)
		local bytes = 0
		for _, name in ipairs(names) do
			local n = redis.call('hstrlen', KEYS[1], name)
			bytes = bytes + (n > 0 and n + #name or 0)
		end
		return bytes
	end

	-- weigh notes that the cache weighs more by so much.
	function weigh(more)
		weight = math.max(weight + more, 0)
		redis.call('hset', KEYS[5], 'rueidisson-bytes', string.format('%.0f', weight))
	end

	-- excess returns how many of the first n entries in order, but for key, have to go by their bytes. Mostly it is one.
	function excess(n, key)
		local over, count, some = weight - heaviest, 0, 2
		while over > 0 and count < n do
			local names = redis.call('zrange', KEYS[4], count, math.min(count + some, n) - 1)
			for _, name in ipairs(names) do
				if over > 0 then
					over, count = over - (name ~= key and weights({name}) or 0), count + 1
				end
			end
			if #names < some then
				break
			end
			some = 50
		end
		return count
	end
end

-- evict drops up to n entries but not key, and returns how many there were.
local function evict(n, key)
	if channel then
		dropping(redis.call('zrange', KEYS[4], 0, n - 1))
	end
	local names = {}
	local popped = redis.call('zpopmin', KEYS[4], n)
	for i = 1, #popped, 2 do
		local name = popped[i]
		if name == tag then
			redis.call('zadd', KEYS[4], popped[i + 1], name)
		elseif name ~= key then
			names[#names + 1] = name
		end
	end
	if #names == 0 then
		return 0
	end
	for i = 1, told and #names or 0 do
		local packed = redis.call('hget', KEYS[1], names[i])
		if packed then
			tell('removed', names[i], packed)
		end
	end
	local bytes = weighed and weights(names) or 0
	redis.call('zrem', KEYS[2], unpack(names))
	redis.call('zrem', KEYS[3], unpack(names))
	local gone = redis.call('hdel', KEYS[1], unpack(names))
	evicted = evicted + gone
	if weighed then
		weigh(-bytes)
	end
	return gone
end

-- forget drops entries, living or not.
local function forget(names)
	local bytes = weighed and weights(names) or 0
	redis.call('zrem', KEYS[4], unpack(names))
	redis.call('zrem', KEYS[3], unpack(names))
	redis.call('zrem', KEYS[2], unpack(names))
	local gone = redis.call('hdel', KEYS[1], unpack(names))
	if weighed then
		weigh(-bytes)
	end
	return gone
end
