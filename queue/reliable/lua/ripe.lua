-- ripe.lua: messages whose time has come: what is due is ready, and what ran out comes again. A step handles up to 200 of each kind.
--
-- Include: enter.lua
-- Include: failing.lua
-- Include: grave.lua
-- Include: trim.lua
-- Needs    queue.lua, outset.lua
-- Defines  more   whether there may be others
local more = false
if not plain then
	local ids = redis.call('zrange', due, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
	if #ids > 0 then
		redis.call('zrem', due, unpack(ids))
		enter(ids)
	end
	more = #ids == 200
end

local ended = late and redis.call('zrange', lease, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
if ended and #ended > 0 then
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

	redis.call('zrem', lease, unpack(ended))
	local lacks = {} -- number of a client → how many messages it has lost
	for i = #ended, 1, -1 do
		local id, attempt, _, of = parts(ended[i])
		lacks[of] = (lacks[of] or 0) + 1
		lost(id, attempt)
	end
	for of, n in pairs(lacks) do
		counted(of, -n)
	end
	redis.call('hincrby', meta, 'ranout', #ended)
	more = more or #ended == 200
end
if buried then
	trim()
end
