-- settle.lua: messages that a consumer is done with.
--
-- Needs    queue.lua
-- Defines  had, acked, leaves, missing
local had = {} -- number of a client → how many of its messages have left the leases. With tokens there may be several clients.
local acked = 0 -- how many messages are done

-- leaves takes a member out of lease. It is true if it was there.
local function leaves(of)
	if redis.call('zrem', lease, of) == 0 then
		return false
	end
	local _, _, _, client = parts(of)
	had[client] = (had[client] or 0) + 1
	return true
end

-- missing returns the answer for a message that is not leased in that delivery: c if it was cancelled, else 0.
local function missing(of)
	return redis.call('hget', finished, (parts(of))) == 'c ' .. of and 'c' or '0'
end
