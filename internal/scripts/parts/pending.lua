-- pending.lua: what is queued for the store behind a map. Its stream is at on, and at last is which change of an entry is
-- the last one.

-- queue queues a change, whose value is behind a =, or nothing where the entry is removed. By names the call that has made
-- it: a server that has forgotten some, and whose clock is behind, may give the id of one to another.
local function queue(on, last, key, to, by)
	redis.call('hset', last, key, redis.call('xadd', on, '*', 'k', key, 'v', to, 'by', by))
end

-- pending is what the store will have of an entry, as it was queued; nil if it has it.
local function pending(on, last, key)
	local id = redis.call('hget', last, key)
	local one = id and redis.call('xrange', on, id, id)[1]
	return one and one[2][4]
end
