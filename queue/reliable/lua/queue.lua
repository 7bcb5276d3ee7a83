-- queue.lua: the parts of a reliable queue, KEYS[1] to KEYS[19], and what becomes of its messages.
--
-- Include: options.lua
local body, ready, prio, due, lease, tries, opt, head, order, unique = unpack(KEYS, 1, 10)
local dead, failure, meta, pause, idle, keeper, deputy, result = unpack(KEYS, 11, 18)
-- KEYS[19] is never there: so a slot on the move refuses a script before its first step, never in the middle.

local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function whole(n)
	return string.format('%d', n) -- a float's way takes more than twice as long
end

local function there(...)
	return redis.call('exists', ...) > 0
end

-- member is what lease has of an attempt at a message: of the first one the id alone.
local function member(id, attempt)
	return attempt == '1' and id or id .. ':' .. attempt
end

-- optioned says whether any message has options: one look for all of them.
local optioned = there(opt)

-- options is what opt says of a message: priority, when it expires (0: never), unique key, group.
local function options(id)
	return parse(optioned and redis.call('hget', opt, id))
end

-- behind is the member of order of a message that is not its group's head.
local function behind(group, id)
	return group .. '\0' .. string.format('%016.0f', tonumber(id))
end

-- put makes a message ready: within its priority at its place by id, without one at the front or at the end.
local function put(id, front)
	local priority = options(id)
	if priority > 0 then
		redis.call('zadd', prio, whole(id - priority * 17592186044416), id)
	elseif front then
		redis.call('lpush', ready, id)
	else
		redis.call('rpush', ready, id)
	end
end

-- enter is for messages whose time has come: each goes behind its group, if that has a head. All go in few commands.
local function enter(ids)
	local texts = optioned and redis.call('hmget', opt, unpack(ids))
	local line, scored = {}, {}
	for i = 1, #ids do
		local id, priority, _, _, group = ids[i], parse(texts and texts[i])
		if group ~= '' and redis.call('hsetnx', head, group, id) == 0 and redis.call('hget', head, group) ~= id then
			redis.call('zadd', order, 0, behind(group, id))
		elseif priority > 0 then
			scored[#scored + 1], scored[#scored + 2] = whole(id - priority * 17592186044416), id
		else
			line[#line + 1] = id
		end
	end
	if #line > 0 then
		redis.call('rpush', ready, unpack(line))
	end
	if #scored > 0 then
		redis.call('zadd', prio, unpack(scored))
	end
end

-- leave ends the part of a message in its group, and in what is unique; text is what opt says of it.
local function leave(id, text)
	local _, _, only, group = parse(text)
	if only ~= '' and redis.call('hget', unique, only) == id then
		redis.call('hdel', unique, only)
	end
	if group == '' then
		return
	elseif redis.call('hget', head, group) ~= id then
		redis.call('zrem', order, behind(group, id))
		return
	end
	local after = redis.call('zrangebylex', order, '[' .. group .. '\0', '(' .. group .. '\1', 'LIMIT', 0, 1)[1]
	if not after then
		redis.call('hdel', head, group)
		return
	end
	redis.call('zrem', order, after)
	local heir = whole(tonumber(string.sub(after, -16)))
	redis.call('hset', head, group, heir)
	put(heir, false)
end

-- forget takes out what there is of messages that are under way no more.
local function forget(ids)
	if #ids == 0 then
		return
	end
	if optioned then
		local texts = redis.call('hmget', opt, unpack(ids))
		for i = 1, #ids do
			leave(ids[i], texts[i])
		end
		redis.call('hdel', opt, unpack(ids))
	end
	redis.call('hdel', body, unpack(ids))
	redis.call('hdel', failure, unpack(ids))
	if there(tries) then
		redis.call('hdel', tries, unpack(ids))
		local marks = {}
		for i = 1, #ids do
			marks[2 * i - 1], marks[2 * i] = ids[i] .. '+', ids[i] .. '!'
		end
		redis.call('hdel', tries, unpack(marks))
	end
end

-- trim takes out the oldest of the dead, a hundred at a time, where there are too many or they are too old.
local function trim(most, age)
	local old = redis.call('zrangebyscore', dead, '-inf', whole(now - age), 'LIMIT', 0, 100)
	if #old == 0 then
		local over = redis.call('zcard', dead) - most
		if over <= 0 then
			return
		end
		old = redis.call('zrange', dead, 0, math.min(over, 100) - 1)
	end
	redis.call('zrem', dead, unpack(old))
	redis.call('hdel', body, unpack(old))
	redis.call('hdel', failure, unpack(old))
	redis.call('hdel', opt, unpack(old))
end

-- wake tells up to n of those who wait; who is not there any more is passed over. What is said is w: there are messages,
-- or d: there is an earlier moment. An ACL that denies the channel must not end a script.
local function told(who, publish, counts, channel, what)
	return redis.pcall(publish, channel .. who, what) ~= 0 or counts == '0'
end

local function wake(n, publish, counts, channel, what)
	for _ = 1, n do
		local who = redis.call('zpopmin', idle)[1]
		while who and not told(who, publish, counts, channel, what) do
			who = redis.call('zpopmin', idle)[1]
		end
		if not who then
			return
		end
	end
end
