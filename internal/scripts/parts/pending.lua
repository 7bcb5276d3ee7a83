-- pending.lua: what is queued for the store behind a map. Its stream is at on, and at last is which change of an entry is
-- the last one.

-- queue queues a change, whose value is behind a =, or nothing where the entry is removed.
local function queue(on, last, key, to)
	redis.call('hset', last, key, redis.call('xadd', on, '*', 'k', key, 'v', to))
end

-- pending is what the store will have of an entry, as it was queued; nil if it has it.
local function pending(on, last, key)
	local id = redis.call('hget', last, key)
	local one = id and redis.call('xrange', on, id, id)[1]
	return one and one[2][4]
end
