-- queue.lua: the parts of a reliable queue, KEYS[1] to KEYS[22], and what becomes of its messages.
--
-- Include: options.lua
local body, ready, prio, due, lease, tries, opt, head, order, unique = unpack(KEYS, 1, 10)
local dead, failure, meta, pause, idle, keeper, deputy, owners, finished, finished_until, progress = unpack(KEYS, 11, 21)
-- KEYS[22] is never there: so a slot on the move refuses a script before its first step, never in the middle.

local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function whole(n)
	return string.format('%d', n) -- a float's way takes more than twice as long
end

local function there(...)
	return redis.call('exists', ...) > 0
end

-- later returns an error if the queue has the format of a later version, which must not be changed, nor read as this one.
local function later(format)
	if format and tonumber(format) > 2 then
		return redis.error_reply('ERR the reliable queue has a format of a later version')
	end
end

local function later_queue()
	return later(redis.call('hget', meta, 'format'))
end

-- parts returns what a member of lease has: id, attempt, number of the delivery, number of the client. A member of an
-- earlier version is an id of a first attempt, or id:attempt; its delivery and its client are ''.
local function parts(of)
	local id, attempt, delivery, client = string.match(of, '^(%d+):?(%d*):?(%d*):?(%d*)$')
	return id, attempt == '' and '1' or attempt, delivery, client
end

-- counted adds n to the number of messages that a client has. What is known of the client goes with its last message.
local function counted(client, n)
	if client == '' or n == 0 or redis.call('hincrby', owners, client .. '+', n) > 0 then
		return
	end
	local identity = redis.call('hget', owners, client)
	redis.call('hdel', owners, client, client .. '+', identity or client)
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

-- together returns how many messages of a group may be under way, as the terms say; false: one, and it was never another number.
local group_bound
local function together()
	if group_bound == nil then
		local terms = redis.call('hget', meta, 'terms') or ''
		group_bound = tonumber(string.match(terms, '^' .. string.rep('[^|]*|', 7) .. '(%d+)$') or '') or false
	end
	return group_bound
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

-- head has of each group the id of one that is under way: ready, delayed or with somebody. Of a group that may have several it has
-- "group NUL id" of each other one, and "group NUL", their number.

-- sits gives a message a place in its group, if there is one.
local function sits(group, id)
	local has = redis.call('hmget', head, group, group .. '\0')
	if (has[1] and 1 or 0) + (has[2] or 0) >= together() then
		return false
	elseif has[1] then
		redis.call('hset', head, group .. '\0' .. id, '')
		redis.call('hincrby', head, group .. '\0', 1)
	else
		redis.call('hset', head, group, id)
	end
	return true
end

local followed = 0 -- how many messages were made ready that had waited behind their group

-- follow makes those ready that wait behind their group, in their order, for as long as there are places. Where the bound was raised
-- there may be any number: a script has about 200 follow, but one at each event, which took one place at most. The next event of the
-- group has more of them follow.
local function follow(group)
	repeat
		local after = redis.call('zrangebylex', order, '[' .. group .. '\0', '(' .. group .. '\1', 'LIMIT', 0, 1)[1]
		local heir = after and whole(tonumber(string.sub(after, -16)))
		local goes = heir and sits(group, heir)
		if goes then
			redis.call('zrem', order, after)
			put(heir, false)
			followed = followed + 1
		end
	until not goes or followed >= 200
end

-- joins reports whether a message is under way in its group from now on, or is already. Otherwise it waits behind its group, or
-- is ready already.
local function joins(group, id)
	if not together() then
		if redis.call('hsetnx', head, group, id) == 1 or redis.call('hget', head, group) == id then
			return true
		end
		redis.call('zadd', order, 0, behind(group, id))
		return false
	elseif redis.call('hget', head, group) == id or redis.call('hexists', head, group .. '\0' .. id) == 1 then
		return true
	end
	redis.call('zadd', order, 0, behind(group, id))
	follow(group) -- those before it go first: there are some where the bound was raised
	return false
end

-- enter is for messages whose time has come: each goes behind its group, if that has a head. All go in few commands.
local function enter(ids)
	local texts = optioned and redis.call('hmget', opt, unpack(ids))
	local line, scored = {}, {}
	for i = 1, #ids do
		local id, priority, _, _, group = ids[i], parse(texts and texts[i])
		if group ~= '' and not joins(group, id) then
			priority = nil
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
	elseif redis.call('hget', head, group) == id then
		if together() then
			redis.call('hdel', head, group)
			follow(group)
			return
		end
	elseif together() and redis.call('hdel', head, group .. '\0' .. id) == 1 then
		if redis.call('hincrby', head, group .. '\0', -1) == 0 then
			redis.call('hdel', head, group .. '\0')
		end
		follow(group)
		return
	else
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
	redis.call('hdel', progress, unpack(ids))
	if there(tries) then
		redis.call('hdel', tries, unpack(ids))
		local marks = {}
		for i = 1, #ids do
			marks[3 * i - 2], marks[3 * i - 1], marks[3 * i] = ids[i] .. '+', ids[i] .. '!', ids[i] .. '#'
		end
		redis.call('hdel', tries, unpack(marks))
	end
end

-- trim takes out up to a hundred of the dead that are too old, or else that are too many: first those that a handler of the dead has
-- failed and is to have again later, which have been seen, and then the oldest.
local function trim(most, age)
	local old = redis.call('zrangebyscore', dead, '-inf', whole(now - age), 'LIMIT', 0, 100)
	if #old == 0 then
		local over = redis.call('zcard', dead) - most
		if over <= 0 then
			return
		end
		over = math.min(over, 100)
		old = redis.call('zrangebyscore', dead, '(' .. whole(now), '+inf', 'LIMIT', 0, over)
		if #old < over then
			local first = redis.call('zrange', dead, 0, over - #old - 1)
			for i = 1, #first do
				old[#old + 1] = first[i]
			end
		end
	end
	redis.call('zrem', dead, unpack(old))
	redis.call('hdel', body, unpack(old))
	redis.call('hdel', failure, unpack(old))
	redis.call('hdel', opt, unpack(old))
	redis.call('hdel', progress, unpack(old))
end

-- remember keeps what is known of n messages that are no more, done or cancelled, of at most 100,000 in all: all has fields and values
-- of finished, ends scores and members of finished_until. For period ms from now at least one of them is kept.
local function remember(n, all, ends, period)
	for i = 1, 2 * n, 4000 do
		redis.call('hset', finished, unpack(all, i, math.min(i + 3999, 2 * n)))
		redis.call('zadd', finished_until, unpack(ends, i, math.min(i + 3999, 2 * n)))
	end
	local old = redis.call('zrangebyscore', finished_until, '-inf', whole(now), 'LIMIT', 0, n + 200)
	local over = math.min(redis.call('zcard', finished_until) - 100000, n + 200)
	if over > #old then
		old = redis.call('zrange', finished_until, 0, over - 1) -- those that have ended are the first of them
	end
	if #old > 0 then
		redis.call('hdel', finished, unpack(old))
		redis.call('zrem', finished_until, unpack(old))
	end
	if redis.call('pttl', finished) < period then
		redis.call('pexpire', finished, whole(period))
		redis.call('pexpire', finished_until, whole(period))
	end
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

-- sooner tells the client that keeps the time of an earlier moment; if none does, one of those that wait.
local function sooner(publish, counts, channel)
	local who = redis.call('get', keeper)
	if not who or not told(who, publish, counts, channel, 'd') then
		redis.call('del', keeper)
		wake(1, publish, counts, channel, 'd')
	end
end
