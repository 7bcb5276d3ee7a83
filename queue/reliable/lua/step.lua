-- step.lua: a consumer's whole exchange: it settles what it is done with, and takes what it wants.
--
-- Include: queue.lua
-- KEYS[1…19] the parts of the queue, see queue.lua
-- KEYS[20…]  lane of the consumer
-- ARGV[1]    number of the request
-- ARGV[2]    how long a lane is remembered, ms
-- ARGV[3]    what the channels of those who wait begin with
-- ARGV[4]    publish or spublish
-- ARGV[5]    0: a message that reached nobody proves nothing
-- ARGV[6]    the consumer
-- ARGV[7]    how many messages it wants
-- ARGV[8]    for how long, ms
-- ARGV[9]    how many attempts a message has
-- ARGV[10]   of one whose lease ran out, how long it waits behind its first attempt, its second, …: ms, with blanks
-- ARGV[11]   how long nobody is to look again, at most, ms
-- ARGV[12]   w: it waits, if it gets less than it wants, and hears; l: it waits no more; -: neither
-- ARGV[13]   how many dead there may be
-- ARGV[14]   how old they may be, ms
-- ARGV[15]   channel of results, on which the ends of messages without one are told, too, but for plain acks
-- ARGV[16]   1: whoever wants a message begins with it at once
-- ARGV[n…]   how many acks of first attempts without a result; their ids;
--            how many other acks; of each id, attempt, and "" or how long its result is kept, ms, with the result behind it;
--            how many nacks; of each id, attempt, delay, cause. A delay of -1 gives back what nobody has seen, -3 what
--            somebody has, -2 buries, and -4 keeps it: its handler is about to begin
--
-- Returns  array  {ms until it is to look again, of each ack and nack 1 or 0, what lease has of each message, then their bodies};
--                 {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, what it settled and what it took
local lane = KEYS[#KEYS]
redis.call('zrem', lease, '') -- which a full server does not refuse, so that it lets those behind it pass
local last = redis.call('get', lane)
if last then
	local n, settled, took = string.match(last, '^(%d+) (%S+) (.*)$')
	if tonumber(n) > tonumber(ARGV[1]) then
		return {-1}
	elseif n == ARGV[1] then
		local out, still = {0, string.sub(settled, 2), ''}, {}
		for of in string.gmatch(took, '%S+') do
			local text = redis.call('zscore', lease, of) and redis.call('hget', body, string.match(of, '^%d+'))
			if text then
				out[#out + 1], still[#still + 1] = text, of
			end
		end
		out[3] = table.concat(still, ' ')
		return out
	end
end
local most, settled, ids = tonumber(ARGV[9]), {'='}, {}
local buried = false
-- One look at what is missing as a rule.
local plain = not optioned and not there(tries, due, prio, pause)

-- spent says whether that was the last attempt: behind a redrive they are counted anew, and numbered on.
local function spent(id, attempt)
	return tonumber(attempt) - (redis.call('hget', tries, id .. '+') or 0) >= most
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
	redis.pcall(ARGV[4], ARGV[15], id)
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

-- placeless leaves of messages those that nobody is to have next. It may end when n are left, and says how many are.
local function placeless(ids, n)
	local left, count = {}, 0
	for id in pairs(ids) do
		local _, _, _, group = options(id)
		local waits = redis.call('zscore', due, id) or redis.call('zscore', prio, id)
		if not waits and (group == '' or not redis.call('zscore', order, behind(group, id))) then
			left[id], count = true, count + 1
		end
	end
	for from = 0, redis.call('llen', ready) - 1, 1000 do
		if count <= n then
			break
		end
		for _, id in ipairs(redis.call('lrange', ready, from, from + 999)) do
			if left[id] then
				left[id], count = nil, count - 1
			end
		end
	end
	return left, count
end

-- lose is for messages without a place, of which perhaps somebody has had the first attempt: it has ended.
local function lose(ids)
	for id in pairs(ids) do
		if spent(id, '1') then
			bury(id, '1', 'the lease was lost')
		else
			retry(id, '1', 0, 'the lease was lost')
		end
	end
end

-- 1. What it is done with.
local firsts = tonumber(ARGV[17])
local at = 18 + firsts
if firsts > 0 then
	local n = redis.call('zrem', lease, unpack(ARGV, 18, at - 1))
	if n == firsts then
		settled[2], ids = string.rep('1', n), {unpack(ARGV, 18, at - 1)}
	else
		-- Those that were leased are there, are not dead, and none of their attempts has ended. So may others be, of which a
		-- failover has forgotten that they were taken, or that have the id of one that it has forgotten.
		local held, count = {}, 0
		for i = 18, n > 0 and at - 1 or 0 do
			local id = ARGV[i]
			if not held[id] and redis.call('hexists', body, id) == 1 and not redis.call('zscore', dead, id)
				and (redis.call('hget', tries, id) or '0') == '0' then
				held[id], count = true, count + 1
			end
		end
		if count > n then
			held, count = placeless(held, n)
		end
		for i = 18, at - 1 do
			local id = ARGV[i]
			local is = held[id] and count <= n
			settled[#settled + 1] = is and '1' or '0'
			if is then
				ids[#ids + 1], held[id] = id, nil
			end
		end
		if count > n then
			lose(held) -- nobody can tell which of them were leased
		end
	end
end
local acks, kept = tonumber(ARGV[at]), 0
at = at + 1
for _ = 1, acks do
	local id, ms = ARGV[at], ARGV[at + 2]
	local held = redis.call('zrem', lease, member(id, ARGV[at + 1])) == 1
	settled[#settled + 1] = held and '1' or '0'
	if held then
		ids[#ids + 1] = id
	end
	if held and ms ~= '' then
		redis.call('hset', result, id, ARGV[at + 3])
		kept = math.max(kept, tonumber(ms))
		redis.pcall(ARGV[4], ARGV[15], id)
	end
	at = at + (ms == '' and 3 or 4)
end
if kept > 0 then
	redis.call('pexpire', result, whole(math.max(kept, 60000, redis.call('pttl', result))))
end
if #ids > 0 then
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
	local id, attempt, delay, cause = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
	at = at + 4
	local of, held = member(id, attempt), false
	if delay == -4 then
		held = redis.call('zscore', lease, of)
	else
		held = redis.call('zrem', lease, of) == 1
	end
	settled[#settled + 1] = held and '1' or '0'
	if held then
		if delay == -4 then
			begun(id, attempt)
		elseif delay == -1 or delay == -3 then
			if delay == -3 then
				redis.call('hset', tries, id, tonumber(attempt) - 1) -- that it was taken stays known
				plain = false
			end
			if not plain then
				redis.call('hdel', tries, id .. '!')
			end
			put(id, true)
		elseif delay == -2 or spent(id, attempt) then
			bury(id, attempt, cause)
		else
			retry(id, attempt, delay, cause)
			redis.call('hincrby', meta, 'retried', 1)
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
	local waits = {}
	for ms in string.gmatch(ARGV[10], '%d+') do
		waits[#waits + 1] = tonumber(ms)
	end
	for i = #out_of_time, 1, -1 do
		local id, attempt = string.match(out_of_time[i], '^(%d+):?(%d*)$')
		attempt = attempt == '' and '1' or attempt
		if attempt ~= '1' and redis.call('hget', tries, id .. '!') ~= attempt then
			redis.call('hincrby', tries, id .. '+', 1)
			retry(id, attempt, 0, 'the lease ran out, before a handler had begun')
		elseif spent(id, attempt) then
			bury(id, attempt, 'the lease ran out')
		else
			-- What was taken together comes back apart, so that one which kills its consumers does not take the rest along.
			local apart = 0.5 + id * 0.6180339887 % 1
			retry(id, attempt, math.floor((waits[math.min(tonumber(attempt), #waits)] or 0) * apart), 'the lease ran out')
		end
	end
	redis.call('hincrby', meta, 'ranout', #out_of_time)
	more = more or #out_of_time == 200
end
if buried then
	trim(tonumber(ARGV[13]), tonumber(ARGV[14]))
end

-- 3. What it takes.
local want, out, took, got = tonumber(ARGV[7]), {0, ''}, {}, 0
local paused = not plain and there(pause)

-- draw takes up to n ids off what is ready.
local function draw(n)
	local ids = {}
	if not plain then
		local popped = redis.call('zpopmin', prio, n)
		for i = 1, #popped, 2 do
			ids[#ids + 1] = popped[i]
		end
	end
	if #ids < n then
		local popped = redis.call('lpop', ready, n - #ids)
		for i = 1, popped and #popped or 0 do
			ids[#ids + 1] = popped[i]
		end
	end
	return ids
end

local leases, late, gone, ends = {}, {}, {}, whole(now + ARGV[8])
for _ = 1, 4 do -- an id whose body was removed is passed over
	local ids = want > got and not paused and draw(want - got) or {}
	if #ids == 0 then
		break
	end
	local bodies = redis.call('hmget', body, unpack(ids))
	local ended = not plain and redis.call('hmget', tries, unpack(ids))
	local texts = optioned and redis.call('hmget', opt, unpack(ids))
	for i = 1, #ids do
		local _, expires = parse(texts and texts[i])
		if bodies[i] and expires > 0 and expires <= now and not (ended and ended[i]) then
			late[#late + 1] = ids[i]
			redis.pcall(ARGV[4], ARGV[15], ids[i])
		elseif bodies[i] then
			local of = ended and ended[i] and member(ids[i], whole(ended[i] + 1)) or ids[i]
			if of ~= ids[i] and ARGV[16] == '1' then
				begun(ids[i], string.match(of, '%d+$'))
			end
			got = got + 1
			took[got], out[3 + got] = of, bodies[i]
			leases[2 * got - 1], leases[2 * got] = ends, of
		elseif texts and texts[i] then
			gone[#gone + 1] = ids[i] -- by eviction: its group goes on
		end
	end
	forget(gone)
	gone = {}
	if #late > 0 then
		forget(late)
		redis.call('hincrby', meta, 'expired', #late)
		late = {}
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
settled, took = table.concat(settled), table.concat(took, ' ')
redis.call('set', lane, ARGV[1] .. ' ' .. settled .. ' ' .. took, 'PX', ARGV[2])
out[2], out[3] = string.sub(settled, 2), took

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
local others = (short or got == want) and there(idle)
if got == want and (others or ARGV[12] == 'l') and redis.call('get', deputy) == me then
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
if got == want then
	if others and not paused and there(ready, prio) then
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
if more or not paused and there(ready, prio) then
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
	trim(tonumber(ARGV[13]), tonumber(ARGV[14]))
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
