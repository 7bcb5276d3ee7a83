-- unlease.lua: the leases of who loads the entries that are written with a time to live, or removed.

-- unlease ends the leases of so many entries, which are the last keys but the one that remembers the answer. A load that is
-- under way is older, also when the time of what was written is over; what stays keeps it from writing by being there. It
-- comes last: it takes no memory. Without those keys the caller has seen to the leases. With some it ends only those of
-- the entries that these numbers say, from 1.
local function unlease(ttl, n, some)
	local last = #KEYS - (request and 1 or 0)
	if ttl == '' or last <= n then
		return
	elseif not some then
		redis.call('del', unpack(KEYS, last - n + 1, last))
	else
		for _, i in ipairs(some) do
			redis.call('del', KEYS[last - n + i])
		end
	end
end
