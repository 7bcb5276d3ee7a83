-- step.lua: a consumer's whole exchange: it settles what it is done with, and takes what it wants.
--
-- Include: queue.lua
-- Include: again.lua
-- Include: outset.lua
-- Include: agreed.lua
-- Include: nack.lua
-- Include: ripe.lua
-- Include: draw.lua
-- Include: deliver.lua
-- Include: watch.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  where the results of acks are kept, one of each; the last key is the lane of the consumer
-- ARGV[1]    number of the request
-- ARGV[2]    how long a lane is remembered, ms
-- ARGV[3]    what the channels of those who wait begin with
-- ARGV[4]    publish or spublish
-- ARGV[5]    0: a message that reached nobody proves nothing
-- ARGV[6]    the consumer
-- ARGV[7]    how many messages it wants
-- ARGV[8]    for how long, ms
-- ARGV[9]    the terms that the consumer takes for those of the queue
-- ARGV[10]   the terms that the consumer was given
-- ARGV[11]   how long nobody is to look again, at most, ms
-- ARGV[12]   w: it waits, if it gets less than it wants, and hears; l: it waits no more; -: neither
-- ARGV[13]   1: it has not been told the terms yet, so it takes nothing where one of those that it was given differs
-- ARGV[14]   channel of results, on which the ends of messages without one are told, too, but for plain acks
-- ARGV[15]   1: whoever wants a message begins with it at once
-- ARGV[16]   who the consumer is: client, pid, host
-- ARGV[17]   d: it takes messages that are dead, the oldest first, and is not registered as one that waits;
--            f: of four messages one is of the priorities in turn; else -
-- ARGV[n…]   how many acks without a result; their members of lease; their ids;
--            how many acks with a result; of each member, how long the result is kept, ms, the result;
--            how many nacks; of each member, delay, cause. A delay of -1 gives back what nobody has seen, -3 what
--            somebody has, after so many ms as the cause says, -2 buries, -4 keeps it: its handler is about to begin, -5 is the backoff of the
--            terms, and -6 an ack of what another client may have taken. Of a message that was taken from the dead a delay
--            of 0 or more is a redrive, and -2 and -5 leave it dead, for a handler of the dead to have again after the backoff
--
-- Returns  array  {ms until it is to look again, of each ack and nack 1, 0 for what it has no more, c if that is since it was
--                 cancelled, b if it was buried, or p if its handler must not begin, since the queue is paused;
--                 ":delivery:client" of what it takes, p if the queue is paused, or -; of each message id:attempt, of a first attempt the id alone;
--                 "", or = and the terms of the queue, if they are not those that the consumer has named, or ! and the
--                 terms, if they are refused: nothing was taken then; ? of a repeated request; then the bodies of the messages};
--                 {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, what it settled and what it took
local lane = KEYS[#KEYS]
local last = redis.call('get', lane)
local answer = last and again(last)
if answer then
	return answer
end
if later(format) then
	return later(format)
end
-- A full server does not refuse ZREM, and lets what follows it in a script pass. Acks begin with one.
if acks == 0 or not format or terms ~= ARGV[9] then
	redis.call('zrem', lease, '')
end
if not format and there(body) then
	redis.call('hset', meta, 'large', '1') -- those that were added by an earlier version may be large
	large = true
end
local news = terms == ARGV[9] and '' or agreed() -- if there are any, the consumer takes nothing

-- 1. The consumer settles what it is done with.
local settled, ids, members = {'='}, {}, {}
if acks == 1 then
	local held = leaves(ARGV[19])
	settled[2] = held and '1' or missing(ARGV[19])
	if held then
		ids[1], members[1] = ARGV[20], ARGV[19]
	end
elseif acks > 1 then
	local scores, n = redis.call('zmscore', lease, unpack(ARGV, 19, 18 + acks)), 0
	for i = 1, acks do
		local member = ARGV[18 + i]
		if scores[i] then
			n = n + 1
			ids[n], members[n] = ARGV[18 + acks + i], member
		end
		settled[i + 1] = scores[i] and '1' or missing(member)
	end
	local left = redis.call('zrem', lease, unpack(ARGV, 19, 18 + acks))
	if n > 0 then -- all are of one client: a token settles with a nack
		local _, _, _, of = parts(members[n])
		had[of] = left
	end
end
for i = 1, results do
	local at = results_at + 3 * i
	local member, period, result = ARGV[at - 2], ARGV[at - 1], ARGV[at]
	local id = parts(member)
	local held = leaves(member)
	settled[#settled + 1] = held and '1' or missing(member)
	if held then
		ids[#ids + 1], members[#members + 1] = id, member
		redis.call('set', KEYS[22 + i], result, 'PX', period)
		redis.pcall(ARGV[4], ARGV[14], id)
	end
end
if #ids > 0 then
	if keeps_done then
		keep(ids, members)
	end
	if plain then
		redis.call('hdel', body, unpack(ids))
	else
		forget(ids)
	end
	acked = acked + #ids
end
for i = nacks_at + 1, nacks_at + 3 * nacks, 3 do
	settled[#settled + 1] = nack(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
end

-- 2. What is due is ready, and what ran out comes again. more says that there may be others.
local more = not plain and is_due()
more = late and ran_out() or more
if buried then
	bound()
end

-- 3. The consumer takes what it wants, of what may be in flight.
local asked = news == '' and tonumber(ARGV[7]) or 0
local want, paused = asked, not plain and there(pause)
local flight = terms ~= no_terms and term(5, 0) or 0 -- how many may be in flight, 0: any number
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
		forget(expired)
		redis.call('hincrby', meta, 'expired', #expired)
	end
end
if got > 8 then
	-- A member that is too long for a small set makes a large one, which is searched more quickly from some twenty members on.
	local long = string.rep('.', 65)
	redis.call('zadd', lease, ends, long, unpack(leases))
	redis.call('zrem', lease, long)
elseif got > 0 then
	redis.call('zadd', lease, unpack(leases))
end
local limited = flight > 0 and redis.call('zcard', lease) >= flight

-- 4. What has happened is counted, and the lane remembers the request.
local counters = {}
if acked > 0 then
	counters = {'acked', whole((acked_before or 0) + acked)}
end
if got > 0 then
	local n = #counters
	counters[n + 1], counters[n + 2] = 'delivery', delivery
	if format ~= '2' then
		counters[n + 3], counters[n + 4] = 'format', '2'
	end
	had[client] = (had[client] or 0) - got
end
if #counters > 0 then
	redis.call('hset', meta, unpack(counters))
end
for of, n in pairs(had) do
	counted(of, -n)
end
local answers = table.concat(settled)
out[2], out[4] = string.sub(answers, 2), table.concat(took, ' ')
redis.call('set', lane, table.concat({ARGV[1], answers, out[3], out[4]}, ' '), 'PX', ARGV[2])

-- 5. Others are woken for what this consumer leaves to them.
local me, cap, role = ARGV[6], tonumber(ARGV[11]), ARGV[12]
out[1] = cap
if role == 'l' then
	redis.call('zrem', idle, me)
	if redis.call('get', keeper) == me then
		redis.call('del', keeper)
		if there(due, lease, pause) then -- there is a moment to be kept
			wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
		end
	end
end
local short = got > 0 and tonumber(ARGV[8]) < cap
local others = (short or got == asked) and there(idle)
if got == asked and (others or role == 'l') and redis.call('get', deputy) == me then
	-- A consumer that waits no more is no deputy: another client has to be, should the keeper die.
	redis.call('del', deputy)
	wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
end
if short and others then
	-- The keeper has to look before the lease ends, should this consumer die.
	local planned = redis.call('pttl', keeper)
	if planned < 0 or planned > ARGV[8] + 500 or redis.call('get', keeper) == me then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
end
local open = not paused and not limited -- what is ready can be taken
if takes_dead then
	local first = redis.call('zrange', dead, 0, 0, 'WITHSCORES')[2]
	if more then
		out[1] = 0
	elseif first and open then
		out[1] = math.max(0, math.min(cap, tonumber(first) - now))
	end
	return out
elseif got == asked then
	if others and open and there(ready, prio) then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'w')
	end
	if more then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
	return out
end

-- 6. The consumer waits for the rest.
if role == 'w' then
	redis.call('zremrangebyscore', idle, '-inf', whole(now - 60000))
	redis.call('zadd', idle, whole(now), me)
	redis.call('pexpire', idle, 60000)
end
if more or open and there(ready, prio) then
	out[1] = 0
	return out
end
local delayed = not plain and redis.call('zrange', due, 0, 0, 'WITHSCORES')[2]
local leased = redis.call('zrange', lease, 0, 0, 'WITHSCORES')[2]
local moment = math.min(tonumber(delayed or math.huge), tonumber(leased or math.huge))
if paused then
	local left = redis.call('pttl', pause)
	moment = math.min(moment, left >= 0 and now + left + 1 or math.huge)
end
if moment < math.huge then
	local wait = math.max(0, math.min(cap, moment - now))
	out[1] = role == 'w' and watch(wait, leased and tonumber(leased) == moment) or wait
end
return out
