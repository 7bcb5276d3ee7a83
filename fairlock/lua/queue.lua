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

-- Says that a process is alive. Whether it hears what it is told is the fraction
-- of its time: half a millisecond less is one that may not listen yet.
local function say(c, alive, hears)
	call('zadd', A, ms(now() + alive - (hears and 0 or 1)) .. (hears and '' or '.5'), c)
end

local function hears(c)
	return not string.find(call('zscore', A, c) or '', '.', 1, true)
end

-- Nobody has said for as long as that that it is alive, so the server itself
-- may have been away: each process gets the time to say it again, and to listen
-- again, which another may have had before.
local function census(alive)
	for _, own in ipairs(call('lrange', Q, 0, -1)) do
		local c = client(own)
		if c then
			say(c, alive, false)
		end
	end
	call('pexpire', A, alive)
end

-- For how long a process is alive that says so now; set by front.
local longest

-- Later than that is from before the server's clock went back: it gets the time
-- to say it again. First a write that a full server does not refuse.
local function ahead(c, till)
	if tonumber(till) > now() + longest then
		call('pexpire', A, longest)
		say(c, longest, hears(c))
	end
end

local function dead(own)
	local c, till = client(own), nil
	if c and c == me then
		return false
	elseif c then
		till = call('zscore', A, c)
	else
		till = call('zscore', T, own)
	end
	if c and till then
		ahead(c, till)
	end
	return not till or tonumber(till) <= now()
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
	if h and h ~= own and call('exists', A) == 0 then
		census(alive)
	end
	return living(h, own)
end

-- Tells the front h that it is its turn, and returns how many heard it, and
-- who it was. One of ours that nobody hears of has gone, where the count can be
-- trusted: a process listens before it queues, and says so when it does not.
local function tell(h, publish, counts, java, go)
	while h do
		local c = client(h)
		-- pcall: an ACL that denies the channel must not turn a release into an error.
		local reached = redis.pcall(publish, c and go .. ':' .. c or java .. ':' .. h, c and h or '0')
		if reached ~= 0 or not c or counts == '0' or not hears(c) then
			return type(reached) == 'number' and reached or -1, h
		end
		h = living(drop(h))
	end
	return 0
end
