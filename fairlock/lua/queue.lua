-- queue.lua: the order of those who wait for a fair lock, which scripts that take or give it have in common.
--
-- Whoever includes it has for its first keys the lock hash, the queue, the
-- waiters' deadlines and the processes that are alive. A waiter of this library
-- is known by the length of its number, which no Java thread has, and lives as
-- long as its process says so; one of Redisson's lives until its deadline.
local call = redis.call
local N, Q, T, A = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local time
local function now()
	if not time then
		local t = call('time')
		time = t[1] * 1000 + math.floor(t[2] / 1000)
	end
	return time
end

local function ms(t)
	return string.format('%.0f', t)
end

-- The client of an owner of ours, nil for one of Redisson's.
local function client(own)
	return #own == 56 and not string.find(own, '%D', 38) and string.sub(own, 1, 36) or nil
end

-- The process that asks, which is alive; set by the script.
local me

-- How long it is remembered who was alive, ms; a process is alive for less. Those
-- who only try may come seldom: what they find out they remember for two days.
local memory = 10000

-- Says that a process is alive. Whether it hears what it is told is the fraction
-- of its time: half a millisecond less is one that may not listen yet, and a
-- quarter one that has not said so itself.
local function say(c, alive, mark)
	call('zadd', A, ms(now() + alive - (mark == '' and 0 or 1)) .. mark, c)
end

local function mark(c)
	return string.match(call('zscore', A, c) or '', '%.%d+') or ''
end

local function hears(c)
	return mark(c) == ''
end

-- Whether slots move here, so that a name may come to another server; set by the
-- script.
local slots = false

local function node()
	local id = slots and redis.pcall('cluster', 'myid')
	return type(id) == 'string' and id or nil
end

-- Since when this server, and which, has its slots: it has a new epoch when one comes
-- to it. nil where it does not say. It goes through all slots for that: asked once.
local asked, since
local function epoch()
	if slots and not asked then
		asked = true
		local said, id = redis.pcall('cluster', 'info'), node()
		local number = type(said) == 'string' and string.match(said, 'cluster_my_epoch:(%d+)')
		since = number and id and number .. ' ' .. id or nil
	end
	return since
end

-- The epoch in which the living have said so, which stands among them beyond all times.
local function settled()
	return call('zrange', A, '+inf', '+inf', 'byscore')[1]
end

-- Reports whether the slot has come here since they said so: who lives could not say
-- it meanwhile, and who listened did so elsewhere. What they said counts no more. The
-- new one comes before the old ones go: a slot on the move would not have a key back.
local function arrived()
	local is = epoch()
	local was = is and settled()
	if is == was then
		return false
	end
	call('zadd', A, '+inf', is)
	call('zremrangebyscore', A, '-inf', '(+inf')
	if was then
		call('zrem', A, was)
	end
	return true
end

-- Reports that of another server, which is little to ask.
local function elsewhere()
	local id, was = node(), settled()
	return id and not (was and string.find(was, id, 1, true)) and arrived()
end

-- Whether the server knows of somebody who listens there.
local function heard(channel)
	local known = redis.pcall('pubsub', 'shardnumsub', channel)
	return tonumber(known[2] or 0) > 0
end

-- The server may have been away, and then nobody could say that it is alive:
-- each process gets the time to say it again, and to listen again, which another
-- may have had before. One that said nothing after the last time has gone, unless
-- the slot has moved since.
local function census(alive)
	call('pexpire', A, memory) -- first a write that a full server does not refuse
	arrived()
	local seen = {}
	for _, own in ipairs(call('lrange', Q, 0, -1)) do
		local c = client(own)
		if c and not seen[c] then
			seen[c] = true
			if mark(c) ~= '.25' then
				say(c, alive, '.25')
			end
		end
	end
	call('pexpire', A, memory)
end

-- Nobody has said anything for so long that those who live may be about to: it is
-- not the time to tell who does. Set by front.
local quiet = false

-- When the last of them has said something. What is later than that can be is from
-- before the server's clock went back, and perhaps of one that has gone.
local function attend(alive)
	local last = tonumber(call('zrange', A, ms(now() + alive), '-inf', 'byscore', 'rev', 'limit', 0, 1, 'withscores')[2] or 0)
	if last <= now() then
		census(alive)
	else
		quiet = last < now() + alive - 900
	end
end

-- For how long a process is alive that says so now; set by front.
local longest

-- Later than that is from before the server's clock went back: it gets the time
-- to say it again. First a write that a full server does not refuse.
local function ahead(c, till)
	if tonumber(till) > now() + longest then
		call('pexpire', A, memory)
		say(c, longest, mark(c))
	end
end

-- Whether those who have said nothing had the time for it: not if the slot has moved
-- since, which may have been there and back.
local function fair()
	if epoch() == settled() or not epoch() then
		return true
	end
	census(longest)
	return false
end

-- Processes of which it is known by now that they have gone.
local gone = {}

local function dead(own)
	local c, till = client(own), nil
	if c and gone[c] then
		return true
	elseif c and (c == me or quiet) then
		return false
	elseif c then
		till = call('zscore', A, c)
	else
		till = call('zscore', T, own)
	end
	if c and till then
		ahead(c, till)
	end
	local over = not till or tonumber(till) <= now()
	if c and over then
		gone[c] = fair()
		return gone[c]
	end
	return over
end

-- Takes out the front, and returns the one behind it. Nothing is looked at
-- again that may have gone with it: a slot on the move would not have it back.
local function drop(own)
	local behind = call('lindex', Q, 1)
	call('zrem', T, own)
	call('lpop', Q)
	return behind
end

-- The first that is alive or is own, from the front h on.
local function living(h, own)
	while h and h ~= own and dead(h) do
		h = drop(h)
	end
	return h
end

local function front(alive, own)
	longest = tonumber(alive)
	local h = call('lindex', Q, 0)
	if h and h ~= own then
		attend(alive)
	end
	return living(h, own)
end

-- The front for who gives the lock back; nobody, where the queue cannot be read,
-- as a key of another type: better no order than a lock that stays held.
local function behind(alive)
	local fine, h = pcall(function()
		local h = front(alive)
		return h and call('zcard', T) and h
	end)
	return fine and h or nil
end

-- Whether one of ours has gone that nobody hears of: a process listens before it
-- queues, and says so when it does not. Where slots move it must have listened to this
-- server: the one that a slot has come to knows of nobody who listens.
local function proof(c, counts)
	if counts == '0' or quiet or not hears(c) then
		return false
	end
	gone[c] = counts == '1' or epoch() and fair()
	return gone[c]
end

-- Tells the front h that it is its turn, and returns how many heard it, and
-- who it was.
local function tell(h, publish, counts, java, go)
	while h do
		local c = client(h)
		-- pcall: an ACL that denies the channel must not turn a release into an error.
		local reached = redis.pcall(publish, c and go .. ':' .. c or java .. ':' .. h, c and h or '0')
		if reached ~= 0 or not c or not proof(c, counts) then
			return type(reached) == 'number' and reached or -1, h
		end
		h = living(drop(h))
	end
	return 0
end
