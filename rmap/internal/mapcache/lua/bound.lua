-- bound.lua: a cache that is larger than it may be loses the entries that were not used for longest, or least.
--
-- Include: entry.lua
-- Include: tell.lua
-- Include: options.lua

-- tag is what keeps the side keys of a whole cache with a time to live; it is no entry.
local tag = 'redisson__expiretag'

-- evicted is how many entries this call has dropped.
local evicted = 0

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
	redis.call('zrem', KEYS[2], unpack(names))
	redis.call('zrem', KEYS[3], unpack(names))
	local gone = redis.call('hdel', KEYS[1], unpack(names))
	evicted = evicted + gone
	return gone
end

-- forget drops entries, living or not.
local function forget(names)
	redis.call('zrem', KEYS[4], unpack(names))
	redis.call('zrem', KEYS[3], unpack(names))
	redis.call('zrem', KEYS[2], unpack(names))
	return redis.call('hdel', KEYS[1], unpack(names))
end
