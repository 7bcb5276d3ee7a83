-- step_take.lua: the consumer takes what it wants, of what may be in flight.
--
-- Include: draw.lua
-- Include: deliver.lua
-- Needs    outset.lua, agreed.lua; ARGV[4], ARGV[7], ARGV[8], ARGV[14], ARGV[15]
-- Defines  out                          the answer of the step
--          asked, got                   how many messages the consumer wants and gets
--          paused, flight               whether the queue is paused; how many may be in flight, 0: any number
--          took, leases, ends           ids and attempts, as the answer has them; what lease gets of them; when they end
--          delivery, client             the numbers of the delivery and of the client, if it gets any
local asked = news == '' and tonumber(ARGV[7]) or 0
local want, paused = asked, not plain and there(pause)
local flight = terms ~= no_terms and term(5, 0) or 0
if flight > 0 and want > 0 then
	want = math.max(0, math.min(want, flight - redis.call('zcard', lease)))
end
local out = {0, '', paused and 'p' or '-', '', news}
local got, took, leases, ends = 0, {}, {}, whole(now + ARGV[8])
local delivery, client

-- The first draw is of what is wanted. Some of it may have been removed or have expired. So may what follows: further draws are
-- of 200, and put back what is too much. One step takes a megabyte, or one message. Without the mark of large bodies none is
-- above 2 kB, and 500 are no more than a megabyte.
local room = 1048576
local simple = plain and not takes_dead -- all ids are in ready, and no attempt has failed
for round = 1, 5 do
	if want == got or paused or room <= 0 then
		break
	end
	local n, ids, scores = round == 1 and want or math.max(want - got, 200), nil, {}
	if simple then
		ids = redis.call('lpop', ready, n) or {}
	else
		ids, scores = draw(n)
	end
	if #ids == 0 then
		break
	end
	local bodies = round == 1 and not large and redis.call('hmget', body, unpack(ids))
	local failed = not simple and failures(ids)
	local texts = optioned and redis.call('hmget', opt, unpack(ids))
	local expired, gone, unread = {}, {}, {}
	for i = 1, #ids do
		local id = ids[i]
		if got == want then
			back(ids, scores, i)
			break
		end
		local expires = texts and select(2, parse(texts[i])) or 0
		local size = bodies and (bodies[i] and #bodies[i] or 0) or not bodies and redis.call('hstrlen', body, id)
		if size == 0 then
			if takes_dead or texts and texts[i] then
				gone[#gone + 1] = id -- by eviction: its group goes on
			end
		elseif expires > 0 and expires <= now and not (failed and failed[i]) then
			expired[#expired + 1] = id
			redis.pcall(ARGV[4], ARGV[14], id)
		elseif size > room and got > 0 then
			back(ids, scores, i)
			room = 0
			break
		else
			if got == 0 then
				delivery, client = deliver()
				out[3] = ':' .. delivery .. ':' .. client
			end
			room, got = room - size, got + 1
			local attempt = failed and failed[i] and whole(failed[i] + 1) or '1'
			if takes_dead then
				redis.call('hset', tries, id .. '#', scores[i])
			end
			if attempt ~= '1' and ARGV[15] == '1' then
				begun(id, attempt)
			end
			took[got], out[5 + got] = attempt == '1' and id or id .. ':' .. attempt, bodies and bodies[i]
			leases[2 * got - 1], leases[2 * got] = ends, id .. ':' .. attempt .. out[3]
			if not bodies then
				unread[#unread + 1] = id -- only its length is known
			end
		end
	end
	if #unread > 0 then
		local read = redis.call('hmget', body, unpack(unread))
		for i = 1, #read do
			out[5 + got - #read + i] = read[i]
		end
	end
	if #gone > 0 then
		forget(gone)
	end
	if #expired > 0 then
		forget(expired, 'e')
		redis.call('hincrby', meta, 'expired', #expired)
	end
end
