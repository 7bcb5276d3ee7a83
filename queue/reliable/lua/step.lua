-- step.lua: a consumer's whole exchange: it settles what it is done with, and takes what it wants.
--
-- Include: queue.lua
-- Include: terms.lua
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
--
-- A message that was taken from the dead has a field "id#" in tries: its score there. It is the moment at which it was buried,
-- or the later one from which on a handler of the dead may have it again.
local lane = KEYS[#KEYS]
redis.call('zrem', lease, '') -- which a full server does not refuse, so that it lets those behind it pass
local last = redis.call('get', lane)
if last then
	local n, settled, delivered, took = string.match(last, '^(%d+) (%S+) (%S+) (.*)$')
	if tonumber(n) > tonumber(ARGV[1]) then
		return {-1}
	elseif n == ARGV[1] then
		local out, still = {0, string.sub(settled, 2), delivered, '', '?'}, {}
		for of in string.gmatch(took, '%S+') do
			local id, attempt = parts(of)
			local text = redis.call('zscore', lease, id .. ':' .. attempt .. delivered) and redis.call('hget', body, id)
			if text then
				out[#out + 1], still[#still + 1] = text, of
			end
		end
		out[4] = table.concat(still, ' ')
		return out
	end
end
local known = redis.call('hmget', meta, 'delivery', 'format', 'large', 'terms')
if later(known[2]) then
	return later(known[2])
elseif not known[2] and there(body) then
	redis.call('hset', meta, 'large', '1') -- whoever has added those has not said how large they are
	known[3] = '1'
end
local settled, ids = {'='}, {}
local buried = false
local terms, news = known[4] or no_terms, ''
if terms ~= ARGV[9] then
	local agreed, differs = agree(terms, ARGV[10])
	if differs and ARGV[13] == '1' then
		news = '!' .. terms
	else
		if agreed ~= terms then
			redis.call('hset', meta, 'terms', agreed)
			terms = agreed
		end
		news = terms ~= ARGV[9] and '=' .. terms or ''
	end
end
local every -- the terms, if any of them was asked for

-- term returns a term of the queue, or what it is by default.
local function term(i, otherwise)
	every = every or split(terms)
	return tonumber(every[i]) or otherwise
end

-- of_message returns how many attempts a message has, and how long it waits after each.
local function of_message(id)
	local _, _, _, _, attempts, waits = options(id)
	local most = tonumber(attempts) or term(1, 10)
	return most, waits ~= '' and waits or every and every[6] or split(terms)[6]
end
-- One look at what is missing as a rule.
local plain = not optioned and not there(tries, due, prio, pause, progress)

-- tried is how many attempts at a message count: after a redrive they are counted anew, and numbered on.
local function tried(id, attempt)
	return tonumber(attempt) - (redis.call('hget', tries, id .. '+') or 0)
end

-- begun marks that a handler is at the attempt. The first attempts have no mark: a process that dies of a message has had no
-- time to say it, so what has waited beside it loses one attempt, and no further ones.
local function begun(id, attempt)
	redis.call('hset', tries, id .. '!', attempt)
	plain = false
end

-- bury is for a message that has had its attempts.
local function bury(id, attempt, cause)
	leave(id, optioned and redis.call('hget', opt, id))
	redis.call('hdel', tries, id, id .. '+', id .. '!')
	redis.call('hset', failure, id, attempt .. ' ' .. cause)
	redis.call('zadd', dead, whole(now), id)
	redis.call('hincrby', meta, 'dead', 1)
	redis.pcall(ARGV[4], ARGV[14], id)
	buried = true
end

-- retry counts an attempt, behind which the message waits for so long.
local function retry(id, attempt, delay, cause)
	redis.call('hset', tries, id, attempt)
	redis.call('hset', failure, id, attempt .. ' ' .. cause)
	plain = false
	if delay > 0 then
		redis.call('zadd', due, whole(now + delay), id)
	else
		put(id, true)
	end
end

-- grave returns the score among the dead of a message that was taken from there; nil or false of any other.
local function grave(id)
	return not plain and redis.call('hget', tries, id .. '#')
end

-- lies puts a message back among the dead.
local function lies(id, moment)
	redis.call('hdel', tries, id, id .. '+', id .. '!', id .. '#')
	redis.call('zadd', dead, moment, id)
end

-- stays leaves a message dead whose handler has failed. A handler of the dead may have it again after the backoff.
local function stays(id, attempt, cause)
	local _, waits = of_message(id)
	redis.call('hset', failure, id, attempt .. ' ' .. cause)
	lies(id, whole(now + backoff(waits, tonumber(attempt), id)))
end

-- revives has a dead message tried again, as redrive.lua does. It is false if another message has its unique key by now.
local function revives(id, attempt, delay, cause)
	local _, _, only = options(id)
	if only ~= '' and redis.call('hsetnx', unique, only, id) == 0 then
		return false
	end
	redis.call('hset', failure, id, attempt .. ' ' .. cause)
	redis.call('hdel', tries, id .. '!', id .. '#')
	redis.call('hset', tries, id, attempt, id .. '+', attempt)
	redis.call('hincrby', meta, 'retried', 1)
	if delay == 0 then
		enter({id})
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'w')
		return true
	end
	redis.call('zadd', due, whole(now + delay), id)
	if redis.call('zrange', due, 0, 0)[1] == id then
		sooner(ARGV[4], ARGV[5], ARGV[3])
	end
	return true
end

-- settles_dead ends the delivery of a message that was taken from the dead, since then, by anything but an ack.
local function settles_dead(id, attempt, delay, cause, since)
	if delay == -1 then
		lies(id, since)
	elseif delay == -3 then
		lies(id, cause == '0' and since or whole(now + cause))
	elseif delay < 0 or not revives(id, attempt, delay, cause) then
		stays(id, attempt, cause)
		return 'b'
	end
	return '1'
end

-- 1. What it is done with.
-- The client of what is settled, and how much of that it had. With tokens messages of other clients are settled, too.
local client, ended, others_had = '', 0, {}

-- leaves takes a member out of lease. It is true if it was there.
local function leaves(of)
	if redis.call('zrem', lease, of) == 0 then
		return false
	end
	local _, _, _, number = parts(of)
	if number ~= '' and (client == '' or client == number) then
		client, ended = number, ended + 1
	elseif number ~= '' then
		others_had[number] = (others_had[number] or 0) + 1
	end
	return true
end

local keep, members = terms ~= no_terms and term(7, 0) or 0, {}

-- keeps remembers messages that are done, whose members of lease were those.
local function keeps(ids, members)
	if keep == 0 then
		return
	end
	local bodies, texts = redis.call('hmget', body, unpack(ids)), optioned and redis.call('hmget', opt, unpack(ids))
	local n, all, ends = 0, {}, {}
	for i = 1, #ids do
		if bodies[i] then
			local _, attempt, delivery = parts(members[i])
			local text = texts and texts[i] or ''
			n = n + 1
			all[2 * n - 1], all[2 * n] = ids[i], table.concat({'d', whole(now), attempt, delivery, #text, text .. bodies[i]}, ' ')
			ends[2 * n - 1], ends[2 * n] = whole(now + keep), ids[i]
		end
	end
	if n > 0 then
		remember(n, all, ends, keep)
	end
end

-- missing is the answer about a message that is not in that delivery any more.
local function missing(of)
	return redis.call('hget', finished, (parts(of))) == 'c ' .. of and 'c' or '0'
end

local acks = tonumber(ARGV[18])
local at = 19 + 2 * acks
if acks > 0 then
	local scores = redis.call('zmscore', lease, unpack(ARGV, 19, 18 + acks))
	local last
	for i = 1, acks do
		if scores[i] then
			ids[#ids + 1], last = ARGV[18 + acks + i], 18 + i
			members[#ids] = ARGV[18 + i]
		end
		settled[i + 1] = scores[i] and '1' or missing(ARGV[18 + i])
	end
	if last then
		local n = redis.call('zrem', lease, unpack(ARGV, 19, 18 + acks))
		local _, _, _, number = parts(ARGV[last])
		client, ended = number, n
	end
end
local results = tonumber(ARGV[at])
at = at + 1
for i = 1, results do
	local id = parts(ARGV[at])
	local held = leaves(ARGV[at])
	settled[#settled + 1] = held and '1' or missing(ARGV[at])
	if held then
		ids[#ids + 1] = id
		members[#ids] = ARGV[at]
		redis.call('set', KEYS[22 + i], ARGV[at + 2], 'PX', ARGV[at + 1])
		redis.pcall(ARGV[4], ARGV[14], id)
	end
	at = at + 3
end
if #ids > 0 then
	keeps(ids, members)
	if plain then
		redis.call('hdel', body, unpack(ids))
	else
		forget(ids)
	end
	redis.call('hincrby', meta, 'acked', #ids)
end
local nacks = tonumber(ARGV[at])
at = at + 1
for _ = 1, nacks do
	local of, delay, cause = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
	at = at + 3
	local id, attempt = parts(of)
	local held
	if delay == -4 then
		held = redis.call('zscore', lease, of)
	else
		held = leaves(of)
	end
	settled[#settled + 1] = held and '1' or missing(of)
	local since = held and delay ~= -4 and delay ~= -6 and grave(id)
	if since then
		settled[#settled] = settles_dead(id, attempt, delay, cause, since)
	elseif held then
		if delay == -4 then
			if not plain and there(pause) then
				settled[#settled] = 'p'
			elseif attempt ~= '1' then
				begun(id, attempt)
			end
		elseif delay == -6 then
			keeps({id}, {of})
			forget({id})
			redis.call('hincrby', meta, 'acked', 1)
		elseif delay == -1 or delay == -3 then
			local later = 0
			if delay == -3 then
				redis.call('hset', tries, id, tonumber(attempt) - 1) -- that it was taken stays known
				plain, later = false, tonumber(cause)
			end
			if not plain then
				redis.call('hdel', tries, id .. '!')
			end
			if later > 0 then
				redis.call('zadd', due, whole(now + later), id)
			else
				put(id, true)
			end
		else
			local most, waits = of_message(id)
			local n = tried(id, attempt)
			if delay == -2 or n >= most then
				bury(id, attempt, cause)
				settled[#settled] = 'b'
			else
				retry(id, attempt, delay == -5 and backoff(waits, n, id) or delay, cause)
				redis.call('hincrby', meta, 'retried', 1)
			end
		end
	end
end

-- 2. What is due, and what ran out.
local more = false
if not plain then
	local ids = redis.call('zrange', due, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
	if #ids > 0 then
		redis.call('zrem', due, unpack(ids))
		enter(ids)
		more = #ids == 200
	end
end
local out_of_time = redis.call('zrange', lease, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, 200)
if #out_of_time > 0 then
	redis.call('zrem', lease, unpack(out_of_time))
	local lost = {}
	for i = #out_of_time, 1, -1 do
		local id, attempt, _, number = parts(out_of_time[i])
		lost[number] = (lost[number] or 0) + 1
		if grave(id) then
			stays(id, attempt, 'the lease ran out')
		elseif attempt ~= '1' and redis.call('hget', tries, id .. '!') ~= attempt then
			redis.call('hincrby', tries, id .. '+', 1)
			retry(id, attempt, 0, 'the lease ran out, before a handler had begun')
		else
			local most, waits = of_message(id)
			local n = tried(id, attempt)
			if n >= most then
				bury(id, attempt, 'the lease ran out')
			else
				-- The first time nothing says that it was the message's fault. From then on it may be what kills its consumers.
				-- What was taken together comes back apart, so that such a one does not take the rest along.
				local apart = 0.5 + id * 0.6180339887 % 1
				retry(id, attempt, n > 1 and math.floor(backoff(waits, n - 1, id) * apart) or 0, 'the lease ran out')
			end
		end
	end
	for number, n in pairs(lost) do
		counted(number, -n)
	end
	redis.call('hincrby', meta, 'ranout', #out_of_time)
	more = more or #out_of_time == 200
end

-- bound takes out what there are too many of the dead.
local function bound()
	trim(term(2, 10000), term(3, 2592000000))
end

if buried then
	bound()
end

-- 3. What it takes.
local want, out, took, got = news == '' and tonumber(ARGV[7]) or 0, {0, '', '-', '', news}, {}, 0
local paused = not plain and there(pause)
local asked, flight = want, terms ~= no_terms and term(5, 0) or 0 -- how many may be in flight, 0: any number
local limited = false
local takes_dead = ARGV[17] == 'd'
if flight > 0 and want > 0 then
	want = math.max(0, math.min(want, flight - redis.call('zcard', lease)))
end
if paused then
	out[3] = 'p'
end

-- turns takes a fourth of n messages off what is ready, each from the next priority that has one: downwards from the last that
-- had its turn, and after priority 0 from the highest on. What is left of four counts for the next call. A priority has 2^44
-- scores.
local function turns(n, ids, scores)
	local state = redis.call('hmget', meta, 'drawn', 'turn')
	local drawn, last, level = n + (state[1] or 0), tonumber(state[2] or 0), 17592186044416
	for _ = 1, math.floor(drawn / 4) do
		local from = last > 0 and whole(-(last - 1) * level) or '-inf'
		local top = redis.call('zrangebyscore', prio, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
		local id = not top[1] and redis.call('lpop', ready)
		if not top[1] and not id then
			top = redis.call('zrange', prio, 0, 0, 'WITHSCORES')
		end
		id = id or top[1]
		if not id then
			break
		end
		ids[#ids + 1], last = id, 0
		if top[1] then
			redis.call('zrem', prio, id)
			scores[#ids] = top[2]
			last = math.floor((id - top[2]) / level + 0.5)
		end
	end
	redis.call('hset', meta, 'drawn', whole(drawn % 4), 'turn', whole(last))
end

-- draw takes up to n ids off what is ready, or off the dead; scores has those of the ids that have a priority, or are dead.
local function draw(n)
	local ids, scores, popped = {}, {}, {}
	if takes_dead then
		popped = redis.call('zrangebyscore', dead, '-inf', whole(now), 'WITHSCORES', 'LIMIT', 0, n)
	elseif not plain then
		if ARGV[17] == 'f' then
			turns(n, ids, scores)
		end
		popped = #ids < n and redis.call('zpopmin', prio, n - #ids) or {}
	end
	for i = 1, #popped, 2 do
		ids[#ids + 1] = popped[i]
		scores[#ids] = popped[i + 1]
	end
	if takes_dead then
		if #ids > 0 then
			redis.call('zrem', dead, unpack(ids))
		end
	elseif #ids < n then
		local popped = redis.call('lpop', ready, n - #ids)
		for i = 1, popped and #popped or 0 do
			ids[#ids + 1] = popped[i]
		end
	end
	return ids, scores
end

-- back puts the ids from the one at first on back to where draw has found them.
local function back(ids, scores, first)
	local line, scored = {}, {}
	for i = #ids, first, -1 do
		if scores[i] then
			scored[#scored + 1], scored[#scored + 2] = scores[i], ids[i]
		else
			line[#line + 1] = ids[i]
		end
	end
	if #line > 0 then
		redis.call('lpush', ready, unpack(line))
	end
	if #scored > 0 then
		redis.call('zadd', takes_dead and dead or prio, unpack(scored))
	end
end

-- failures returns how many attempts at each of the ids have failed; false: none at any.
local function failures(ids)
	if not takes_dead then
		return not plain and redis.call('hmget', tries, unpack(ids))
	end
	local failed = redis.call('hmget', failure, unpack(ids))
	for i = 1, #ids do
		failed[i] = string.match(failed[i] or '', '^%d+') or '0'
	end
	return failed
end

-- A delivery has a number that no other delivery of the queue has. A failover that forgets a take forgets a count, too. So
-- the number is the server's time in µs, or one more than the last number.
local delivery, number, delivered = false, false, out[3]

-- owner returns the number of this client among those that have messages.
local function owner()
	local n = redis.call('hget', owners, ARGV[16])
	if not n then
		n = math.floor(redis.call('hlen', owners) / 3) + 1
		while redis.call('hexists', owners, whole(n)) == 1 do
			n = n + 1
		end
		n = whole(n)
		redis.call('hset', owners, n, ARGV[16], ARGV[16], n)
	end
	return n
end

local leases, ends = {}, whole(now + ARGV[8])

-- take has this consumer have the messages of ids, whose bodies are those. since has the scores of what was dead.
local function take(ids, bodies, failed, since)
	if got == 0 and #ids > 0 then
		delivery, number = whole(math.max((known[1] or 0) + 1, clock[1] * 1000000 + clock[2])), owner()
		delivered = ':' .. delivery .. ':' .. number
	end
	for i = 1, #ids do
		got = got + 1
		local id, attempt = ids[i], failed[i] and whole(failed[i] + 1) or '1'
		if takes_dead then
			redis.call('hset', tries, id .. '#', since[i])
		end
		if attempt ~= '1' and ARGV[15] == '1' then
			begun(id, attempt)
		end
		took[got], out[5 + got] = attempt == '1' and id or id .. ':' .. attempt, bodies[i]
		leases[2 * got - 1], leases[2 * got] = ends, id .. ':' .. attempt .. delivered
	end
end

-- The first draw is of what is wanted. Where some of that was removed or has expired, so may be what follows: further draws
-- look at 200, and put back what is too much. What is taken together has a megabyte, or is one message. Bodies above 2 kB are
-- known to be there by a mark; without it 500 have no more than that.
local room = 1048576
for round = 1, 5 do
	if want == got or paused or room <= 0 then
		break
	end
	local ids, scores = draw(round == 1 and want or math.max(want - got, 200))
	if #ids == 0 then
		break
	end
	local bodies = round == 1 and not known[3] and redis.call('hmget', body, unpack(ids))
	local failed = failures(ids)
	local texts = optioned and redis.call('hmget', opt, unpack(ids))
	local late, gone, mine, theirs, ended, since = {}, {}, {}, {}, {}, {}
	for i = 1, #ids do
		if got + #mine == want then
			back(ids, scores, i)
			break
		end
		local _, expires = parse(texts and texts[i])
		local size = bodies and (bodies[i] and #bodies[i] or 0) or not bodies and redis.call('hstrlen', body, ids[i])
		if size == 0 then
			if takes_dead or texts and texts[i] then
				gone[#gone + 1] = ids[i] -- by eviction: its group goes on
			end
		elseif expires > 0 and expires <= now and not (failed and failed[i]) then
			late[#late + 1] = ids[i]
			redis.pcall(ARGV[4], ARGV[14], ids[i])
		elseif size > room and got + #mine > 0 then
			back(ids, scores, i)
			room = 0
			break
		else
			room = room - size
			mine[#mine + 1] = ids[i]
			theirs[#mine], ended[#mine], since[#mine] = bodies and bodies[i], failed and failed[i], scores[i]
		end
	end
	take(mine, #mine > 0 and not bodies and redis.call('hmget', body, unpack(mine)) or theirs, ended, since)
	forget(gone)
	if #late > 0 then
		forget(late)
		redis.call('hincrby', meta, 'expired', #late)
	end
end
if got > 8 then
	-- What is too long for a small set makes a large one, which is searched more quickly from some twenty members on.
	local long = string.rep('.', 65)
	redis.call('zadd', lease, ends, long, unpack(leases))
	redis.call('zrem', lease, long)
elseif got > 0 then
	redis.call('zadd', lease, unpack(leases))
end
if got > 0 then
	redis.call('hset', meta, 'delivery', delivery, 'format', '2')
end
limited = flight > 0 and redis.call('zcard', lease) >= flight
if number and number == client then
	counted(client, got - ended)
else
	counted(client, -ended)
	counted(number or '', got)
end
for other, n in pairs(others_had) do
	counted(other, -n)
end
settled, took = table.concat(settled), table.concat(took, ' ')
redis.call('set', lane, table.concat({ARGV[1], settled, delivered, took}, ' '), 'PX', ARGV[2])
out[2], out[3], out[4] = string.sub(settled, 2), delivered, took

-- 4. Who waits, and who keeps the time.
local me, cap = ARGV[6], tonumber(ARGV[11])
out[1] = cap
if ARGV[12] == 'l' then
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
if got == asked and (others or ARGV[12] == 'l') and redis.call('get', deputy) == me then
	-- Who waits no more sees to nothing: somebody else has to, should who keeps the time die.
	redis.call('del', deputy)
	wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
end
if short and others then
	-- Who keeps the time has to look before the lease ends, should this consumer die.
	local planned = redis.call('pttl', keeper)
	if planned < 0 or planned > ARGV[8] + 500 or redis.call('get', keeper) == me then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
end
if takes_dead then
	local first = redis.call('zrange', dead, 0, 0, 'WITHSCORES')[2]
	if more then
		out[1] = 0
	elseif first and not paused and not limited then
		out[1] = math.max(0, math.min(cap, tonumber(first) - now))
	end
	return out
end
if got == asked then
	if others and not paused and not limited and there(ready, prio) then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'w')
	end
	if more then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
	return out
end
if ARGV[12] == 'w' then
	redis.call('zremrangebyscore', idle, '-inf', whole(now - 60000))
	redis.call('zadd', idle, whole(now), me)
	redis.call('pexpire', idle, 60000)
end
if more or not paused and not limited and there(ready, prio) then
	out[1] = 0
	return out
end
local moment = redis.call('zrange', due, 0, 0, 'WITHSCORES')[2]
local ends = redis.call('zrange', lease, 0, 0, 'WITHSCORES')[2]
moment = math.min(moment and tonumber(moment) or math.huge, ends and tonumber(ends) or math.huge)
if paused then
	local left = redis.call('pttl', pause)
	moment = math.min(moment, left >= 0 and now + left + 1 or math.huge)
end
if moment == math.huge then
	return out
end
local wait = math.max(0, math.min(cap, moment - now))
if ARGV[12] ~= 'w' then
	out[1] = wait
	return out
end
-- A key of who keeps the time, or is to see that he does, lasts for half a second longer than he sleeps. Who knows of a
-- moment that is 200 ms earlier takes over. So the one looks at most 200 ms behind a moment, and if he has died the other
-- does, 800 ms behind it.
local function mine(key, wait)
	local who = redis.call('get', key)
	return not who or who == me or redis.call('pttl', key) > wait + 700
end

if mine(keeper, wait) then
	out[1] = wait
	redis.call('set', keeper, me, 'PX', whole(wait + 500))
	bound()
	if redis.call('get', deputy) == me then
		redis.call('del', deputy)
	end
	local planned = redis.call('pttl', deputy)
	if wait < cap and ends and tonumber(ends) == moment and (planned < 0 or planned > wait + 1300) and redis.call('zcard', idle) > 1 then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
	return out
end
local second = math.max(1, math.min(cap, redis.call('pttl', keeper) + 50))
if mine(deputy, second) then
	redis.call('set', deputy, me, 'PX', whole(second + 500))
	out[1] = second
end
return out
