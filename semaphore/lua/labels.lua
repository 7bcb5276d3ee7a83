-- labels.lua: what permits are called by those who hold them, at KEYS[4].

-- unlabelled are ids whose labels are to go: those that are given back, and those whose leases have ended. Of those that
-- Redisson gave back, some are found by chance at each call.
local function unlabelled(leases, now, backs)
	local ids = redis.call('zrangebyscore', leases, 0, whole(now), 'LIMIT', 0, 1000)
	for _, id in ipairs(backs) do
		ids[#ids + 1] = id
	end
	for _, id in ipairs(redis.call('hrandfield', KEYS[4], 4)) do
		if not redis.call('zscore', leases, id) then
			ids[#ids + 1] = id
		end
	end
	return ids
end
