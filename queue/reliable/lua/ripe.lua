-- ripe.lua: messages whose time has come. A step handles up to 200 of each kind.
--
-- Include: enter.lua
-- Include: failing.lua
-- Include: grave.lua
-- Needs    queue.lua
-- Defines  is_due, if rare; ran_out, if amiss
local is_due
if rare then
	-- is_due makes ready what was delayed until now. It is true if there may be more of that.
	function is_due()
		local ids = redis.call('zrange', due, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
		if #ids > 0 then
			redis.call('zrem', due, unpack(ids))
			enter(ids)
		end
		return #ids == 200
	end
end

local ran_out
if amiss then
	-- lost counts the attempt, unless it is known that no handler had begun with it.
	local function lost(id, attempt)
		if grave(id) then
			stays(id, attempt, 'the lease ran out')
			return
		end
		if attempt ~= '1' and redis.call('hget', tries, id .. '!') ~= attempt then
			redis.call('hincrby', tries, id .. '+', 1)
			retry(id, attempt, 0, 'the lease ran out, before a handler had begun')
			return
		end
		local most, waits = terms_of(id)
		local n = tried(id, attempt)
		if n >= most then
			bury(id, attempt, 'the lease ran out')
			return
		end
		-- The first time nothing says that the message is to blame. From then on it may be what kills its consumers. Messages that
		-- were taken together come back apart, so that such a one does not take the rest along.
		local apart = 0.5 + id * 0.6180339887 % 1
		retry(id, attempt, n > 1 and math.floor(backoff(waits, n - 1, id) * apart) or 0, 'the lease ran out')
	end

	-- ran_out takes messages from the clients whose leases have ended. It is true if there may be more of those.
	function ran_out()
		local members = redis.call('zrange', lease, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
		if #members == 0 then
			return false
		end
		redis.call('zrem', lease, unpack(members))
		local had = {} -- number of a client → how many of them
		for i = #members, 1, -1 do
			local id, attempt, _, of = parts(members[i])
			had[of] = (had[of] or 0) + 1
			lost(id, attempt)
		end
		for of, n in pairs(had) do
			counted(of, -n)
		end
		redis.call('hincrby', meta, 'ranout', #members)
		return #members == 200
	end
end
